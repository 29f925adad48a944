// Builds skein: `dist/skein`, one self-contained executable, and with --bundle `dist/main.js` with its bytecode and the
// screen beside it, which is what the npm package carries. --outfile <path> writes the executable elsewhere, --outdir
// <path> the bundle; both leave `dist` alone. None of them loads a directory's .env, bunfig.toml or tsconfig.json.
import type { BunPlugin } from "bun";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { recordOrder } from "./bytecode-order.ts";

const root = `${import.meta.dir}/..`;
const wantsBundle = process.argv.includes("--bundle");
const outfile = argument("--outfile");
const outdir = argument("--outdir") ?? `${root}/dist`;

/** The screen's highlighter, which we do not use, and the native library of other machines. */
const leftOut = ["*.scm", "*.wasm"];
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
 * The screen is a file of its own: its library awaits at the top level, which bytecode can't. Its native library is found
 * in node_modules, where npm puts the one of the machine.
 */
async function bundle(): Promise<void> {
  const beside: BunPlugin = {
    name: "the screen is beside it",
    setup: (builder) => void builder.onResolve({ filter: /\/tui\/app\.ts$/ }, () => ({ path: "./tui.js", external: true })),
  };
  const all = { target: "bun", minify: true, outdir } as const;
  await Bun.build({ ...all, entrypoints: [`${root}/src/main.ts`], format: "cjs", bytecode: true, plugins: [beside] });
  await Bun.build({
    ...all,
    entrypoints: [`${root}/src/tui/app.ts`],
    format: "esm",
    naming: { entry: "tui.js", asset: "tui-[name].[ext]" },
    external: [...leftOut, ...nativeLibraries],
  });
}

/** Built, tried, and built again with what was used in front: skein has 5 MB less then and its executor 2.5 (`npm run bench`). */
async function compile(outfile: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "skein-build-"));
  try {
    const tried = join(folder, "tried");
    await buildExecutable(tried, []);
    await buildExecutable(outfile, await recordOrder(tried, folder));
    chmodSync(outfile, 0o755);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Split, so that the executor does not load the agent; and compiling to machine code late, because most runs are
 * over before it pays: 20 calls take a tenth less time and the process 7 MB less (`npm run bench`).
 */
async function buildExecutable(outfile: string, orders: string[]): Promise<void> {
  const closed = ["dotenv", "bunfig", "tsconfig", "package-json"].map((file) => `--no-compile-autoload-${file}`);
  await build([
    "--compile",
    "--bytecode",
    "--minify",
    "--format=esm",
    "--splitting",
    "--compile-jit-policy=30",
    ...closed,
    ...orders.map((order) => `--bytecode-order=${order}`),
    ...[...leftOut, ...nativeLibraries.filter(isMissing)].flatMap((name) => ["--external", name]),
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
