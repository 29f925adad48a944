// Builds skein: `dist/skein`, one self-contained executable, and with --bundle `dist/main.js` with its bytecode,
// which is what the npm package carries; --outfile <path> puts the executable elsewhere and leaves `dist` alone.
// None of them loads a directory's .env, bunfig.toml or tsconfig.json.
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { resolve } from "node:path";

const root = `${import.meta.dir}/..`;
const wantsBundle = process.argv.includes("--bundle");
const given = process.argv.indexOf("--outfile");

if (given > 0) await compile(resolve(process.argv[given + 1] ?? "skein"));
else {
  rmSync(`${root}/dist`, { recursive: true, force: true });
  mkdirSync(`${root}/dist`);
  await (wantsBundle ? bundle() : compile(`${root}/dist/skein`));
}

async function bundle(): Promise<void> {
  await build(["--target=bun", "--format=cjs", "--bytecode", "--minify", "--outdir", "dist"]);
}

async function compile(outfile: string): Promise<void> {
  const closed = ["dotenv", "bunfig", "tsconfig", "package-json"].map((file) => `--no-compile-autoload-${file}`);
  await build(["--compile", "--bytecode", "--minify", ...closed, "--outfile", outfile]);
  chmodSync(outfile, 0o755);
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
