// Limits what a run loads before its first request. The bundle tells it; a measured time would depend on the machine.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

type Output = { bytes: number; inputs: Record<string, unknown>; imports: { path: string; kind: string; external?: boolean }[] };

/** Node's modules that are small, or that Bun has loaded anyway. Others, such as node:util and node:zlib, load the streams of Node. */
const cheapModules = ["bun:sqlite", "node:fs", "node:os", "node:path"];

test("a run loads few files and only cheap modules before its first request", async () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-bundle-"));
  try {
    const root = join(import.meta.dir, "../..");
    const result = await Bun.build({
      entrypoints: [join(root, "src/main.ts")],
      outdir: directory,
      target: "bun",
      splitting: true,
      minify: true,
      metafile: true,
      external: ["*.scm", "*.wasm", "@opentui/core-*"],
    });
    const outputs = Object.entries(result.metafile!.outputs) as [string, Output][];
    const outputOf = (path: string) => outputs.find(([name]) => name.endsWith(path.slice(1)))![1];
    const loaded = new Set<Output>();
    const modules = new Set<string>();
    const load = (output: Output): void => {
      if (loaded.has(output)) return;
      loaded.add(output);
      for (const { path, kind } of output.imports) {
        if (kind !== "import-statement") continue;
        if (path.startsWith("./")) load(outputOf(path));
        else modules.add(path);
      }
    };
    for (const file of ["src/main.ts", "src/run-path.ts"])
      load(outputs.find(([, { inputs }]) => Object.keys(inputs).some((input) => input.endsWith(file)))![1]);
    const inputs = [...loaded].flatMap((output) => Object.keys(output.inputs));
    const bytes = [...loaded].reduce((sum, output) => sum + output.bytes, 0);
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
    expect(bytes).toBeLessThan(450_000);
    // `--version` loads only what main.ts itself imports.
    loaded.clear();
    load(outputs.find(([, { inputs }]) => Object.keys(inputs).some((input) => input.endsWith("src/main.ts")))![1]);
    expect([...loaded].reduce((sum, output) => sum + output.bytes, 0)).toBeLessThan(10_000);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}, 60_000);
