// Builds skein: `dist/skein`, one self-contained executable, and with --bundle `dist/main.js` with its bytecode,
// which is what the npm package carries. Neither loads a directory's .env or bunfig.toml.
import { chmodSync, mkdirSync, rmSync } from "node:fs";

const root = `${import.meta.dir}/..`;
const wantsBundle = process.argv.includes("--bundle");

rmSync(`${root}/dist`, { recursive: true, force: true });
mkdirSync(`${root}/dist`);
await (wantsBundle ? bundle() : compile());

async function bundle(): Promise<void> {
  await build(["--target=bun", "--format=cjs", "--bytecode", "--minify", "--outdir", "dist"]);
}

async function compile(): Promise<void> {
  const closed = ["--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
  await build(["--compile", "--bytecode", "--minify", ...closed, "--outfile", "dist/skein"]);
  chmodSync(`${root}/dist/skein`, 0o755);
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
