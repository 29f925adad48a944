// Builds skein: `dist/skein`, one self-contained executable. With --bundle it builds the files of the npm package:
// `dist/main.js` with its bytecode, the TUI, the fleet and the web page beside it. --outfile <path> and --outdir <path> write elsewhere.
// The built program loads no .env, bunfig.toml or tsconfig.json of the current directory.
import type { BunPlugin } from "bun";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildPage } from "../src/web/build/build-page.ts";
import { archiveName } from "../src/web/server/page-files.ts";
import { recordOrder } from "./bytecode-order.ts";

const root = `${import.meta.dir}/..`;
const wantsBundle = process.argv.includes("--bundle");
const outfile = argument("--outfile");
const outdir = argument("--outdir") ?? `${root}/dist`;

/** Files of the TUI library's highlighter, which skein does not use. */
const unusedAssets = ["*.scm", "*.wasm"];
const nativeLibraries = "darwin-x64 darwin-arm64 linux-x64 linux-x64-musl linux-arm64 linux-arm64-musl win32-x64 win32-arm64"
  .split(" ")
  .map((platform) => `@opentui/core-${platform}`);

if (outfile !== undefined) await compile(resolve(outfile));
else {
  mkdirSync(outdir, { recursive: true });
  await (wantsBundle ? bundle() : compile(`${outdir}/skein`));
}

function argument(flag: string): string | undefined {
  const index = process.argv.indexOf(flag);
  return index < 0 ? undefined : process.argv[index + 1];
}

/**
 * The TUI is a separate file: its library uses top-level await, which bytecode does not support. Its native library is
 * loaded from node_modules, where npm installs the one for the machine. The fleet is one, so that main.js has no code of Postgres.
 */
async function bundle(): Promise<void> {
  const ownBundles: BunPlugin = {
    name: "own-bundles",
    setup(builder) {
      builder.onResolve({ filter: /\/tui\/app\.ts$/ }, () => ({ path: "./tui.js", external: true }));
      builder.onResolve({ filter: /\/fleet\/fleet\.ts$/ }, (args) =>
        /\/src\/(app\/|process-fleet\.ts$)/.test(args.importer) ? { path: "./fleet.js", external: true } : null,
      );
    },
  };
  const common = { target: "bun", minify: true, outdir } as const;
  await Bun.build({ ...common, entrypoints: [`${root}/src/main.ts`], format: "cjs", bytecode: true, plugins: [ownBundles] });
  await Bun.build({
    ...common,
    entrypoints: [`${root}/src/tui/app.ts`],
    format: "esm",
    naming: { entry: "tui.js", asset: "tui-[name].[ext]" },
    external: [...unusedAssets, ...nativeLibraries],
  });
  await Bun.build({ ...common, entrypoints: [`${root}/src/fleet/fleet.ts`], format: "esm", naming: { entry: "fleet.js" } });
  await writePage(outdir);
}

/** Writes the files of the web page as one archive. Returns its path. */
async function writePage(directory: string): Promise<string> {
  const path = join(directory, archiveName);
  await Bun.write(path, JSON.stringify(await buildPage()));
  return path;
}

/** Builds twice: the second build puts the functions that a run used first. Saves 5 MB, and 2.5 MB in the executor. */
async function compile(outfile: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "skein-build-"));
  try {
    const trial = join(directory, "trial");
    const page = await writePage(directory);
    await buildExecutable(trial, { page, orders: [] });
    await buildExecutable(outfile, { page, orders: await recordOrder(trial, directory) });
    chmodSync(outfile, 0o755);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Code splitting: the executor does not load the agent. A late JIT, because most runs end before it pays off:
 * 20 calls take a tenth less time and the process 7 MB less (`npm run bench`).
 */
async function buildExecutable(outfile: string, { page, orders }: { page: string; orders: string[] }): Promise<void> {
  const noAutoload = ["dotenv", "bunfig", "tsconfig", "package-json"].map((file) => `--no-compile-autoload-${file}`);
  await build([
    // A file that is no code is embedded as it is.
    page,
    "--asset-naming=[name].[ext]",
    "--compile",
    "--bytecode",
    "--minify",
    "--format=esm",
    "--splitting",
    "--compile-jit-policy=30",
    ...noAutoload,
    ...orders.map((order) => `--bytecode-order=${order}`),
    ...[...unusedAssets, ...nativeLibraries.filter(isMissing)].flatMap((name) => ["--external", name]),
    "--outfile",
    outfile,
  ]);
}

function isMissing(library: string): boolean {
  return !existsSync(`${root}/node_modules/${library}`);
}

async function build(flags: string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, "build", "src/main.ts", ...flags], { cwd: root, stdout: "pipe", stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) {
    process.stderr.write(text);
    process.exit(1);
  }
  process.stdout.write(text.trim().split("\n").slice(-3).join("\n").concat("\n"));
}
