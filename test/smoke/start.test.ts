// Limits what a run loads before its first request and before its first call. The bundle tells it; a measured time would
// depend on the machine.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

type Output = { bytes: number; inputs: Record<string, unknown>; imports: { path: string; kind: string }[] };

/** Node's modules that are small, or that Bun has loaded anyway. Others, such as util and zlib, load the streams of Node. */
const cheapModules = ["bun:sqlite", "fs", "os", "path"];

/** Loaded between the first request and the first call, and by the executor. */
const callFiles = [
  "src/app/executors/turn-sandbox.ts",
  "src/app/executors/project-guards.ts",
  "src/files/snapshots/snapshots.ts",
  "src/agents/native/tools/call-tool.ts",
  "src/executor/server.ts",
  "src/executor/tools/index.ts",
];

const directory = mkdtempSync(join(tmpdir(), "skein-bundle-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let outputs: [name: string, output: Output][] = [];

beforeAll(async () => {
  const result = await Bun.build({
    entrypoints: [join(import.meta.dir, "../../src/main.ts")],
    outdir: directory,
    target: "bun",
    splitting: true,
    minify: true,
    metafile: true,
    external: ["*.scm", "*.wasm", "@opentui/core-*"],
  });
  outputs = Object.entries(result.metafile!.outputs);
}, 60_000);

/** The files of the bundle that these source files are in, with all that they import, and the modules of the runtime. */
function loadedWith(files: readonly string[]): { loaded: Set<Output>; modules: Set<string> } {
  const outputOf = (path: string) => outputs.find(([name]) => name.endsWith(path.slice(1)))![1];
  const loaded = new Set<Output>();
  const modules = new Set<string>();
  const load = (output: Output): void => {
    if (loaded.has(output)) return;
    loaded.add(output);
    for (const name of runtimeModulesOf(output)) modules.add(name);
    for (const { path, kind } of output.imports) if (kind === "import-statement" && path.startsWith("./")) load(outputOf(path));
  };
  for (const file of files) load(outputs.find(([, { inputs }]) => Object.keys(inputs).some((input) => input.endsWith(file)))![1]);
  return { loaded, modules };
}

/** The list of imports of the bundler has no modules of the runtime. */
function runtimeModulesOf(output: Output): string[] {
  const [name] = outputs.find(([, other]) => other === output)!;
  const imports = new Bun.Transpiler({ loader: "js" }).scanImports(readFileSync(join(directory, name), "utf8"));
  const paths = imports.flatMap(({ path, kind }) => (kind === "import-statement" && !path.startsWith(".") ? [path] : []));
  return paths.map((path) => path.replace(/^node:/, ""));
}

function bytesOf(loaded: Set<Output>): number {
  return [...loaded].reduce((sum, output) => sum + output.bytes, 0);
}

test("a run loads few files and only cheap modules before its first request", () => {
  const { loaded, modules } = loadedWith(["src/main.ts", "src/run-path.ts"]);
  const inputs = [...loaded].flatMap((output) => Object.keys(output.inputs));
  expect(inputs.length).toBeGreaterThan(200);
  expect(
    inputs.filter((input) =>
      /node_modules|catalog-data|protocol\/(schema|otlp)|external\/transcripts|src\/(tui|mcp|hub|fleet|app\/traces|store\/postgres)\//.test(
        input,
      ),
    ),
  ).toEqual([]);
  expect([...modules].filter((name) => !cheapModules.includes(name))).toEqual([]);
  // 10 files with 412 KB when this was written. Eighty files took a millisecond longer.
  expect(loaded.size).toBeLessThanOrEqual(14);
  expect(bytesOf(loaded)).toBeLessThan(450_000);
});

test("the first call of a tool loads only cheap modules", () => {
  const { modules } = loadedWith(callFiles);
  expect([...modules].filter((name) => ![...cheapModules, "bun:ffi", "fs/promises"].includes(name))).toEqual([]);
});

test("--version loads only what main.ts itself imports", () => {
  expect(bytesOf(loadedWith(["src/main.ts"]).loaded)).toBeLessThan(10_000);
});
