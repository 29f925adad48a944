// The programs to measure, and their configuration for the scripted model server. Measures nothing.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import ownPackage from "../package.json";
import { peerPackages, peerPrograms, peersDir } from "./peers.ts";
import { before, floor } from "./table.ts";

export type Contender = {
  name: string;
  version: string;
  /** Written into an empty home before the first run. */
  files: (url: string) => Record<string, string>;
  env: (url: string, home: string) => Record<string, string>;
  command: (task: string) => string[];
  /** Flags for a run of thousands of calls. */
  longRunFlags?: string[];
  /** Text for its stdin; without it stdin is empty. */
  stdin?: (task: string) => string | null;
};

const root = join(import.meta.dir, "..");

export const pi: Contender = {
  name: "pi",
  version: versionOf(peerPackages.pi),
  files: (url) => ({ ".pi/agent/models.json": JSON.stringify(piModels(url)) }),
  env: () => ({ PI_OFFLINE: "1", PI_TELEMETRY: "0", PI_SKIP_VERSION_CHECK: "1" }),
  command: (task) => [peerPrograms.node, peerPrograms.pi, "-p", "--mode", "json", "--model", "lab/claude-sonnet-4-5", task],
};

/** The native executable, without the Node launcher of its npm package. */
export const codex: Contender = {
  name: "codex",
  version: versionOf(peerPackages.codex),
  files: (url) => ({ ".codex/config.toml": codexConfig(url) }),
  env: () => ({ LAB_KEY: "dummy" }),
  command: (task) => [peerPrograms.codex, "exec", "--json", "--dangerously-bypass-approvals-and-sandbox", task],
};

export const skein: Contender = {
  name: "skein",
  version: ownPackage.version,
  files: () => ({}),
  env: (url, home) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy", SKEIN_HOME: join(home, "skein") }),
  command: (task) => [join(root, "dist/skein"), "run", task, "-m", "anthropic/claude-sonnet-4-5", "--output-format", "json"],
  longRunFlags: ["--max-steps", "100000"],
};

const floorProgram = join(peersDir, "floor");

/** A bare loop on skein's runtime, compiled as skein is. */
export async function buildFloor(): Promise<Contender> {
  const source = join(import.meta.dir, "floor.ts");
  if (!existsSync(floorProgram) || Bun.file(floorProgram).lastModified < Bun.file(source).lastModified)
    await run([process.execPath, "build", source, "--compile", "--minify", "--bytecode", "--format=cjs", "--outfile", floorProgram], root);
  return {
    name: floor,
    version: "",
    files: () => ({}),
    env: (url) => ({ ANTHROPIC_BASE_URL: url }),
    command: (task) => [floorProgram, task],
  };
}

/** The executable of an earlier build: the value of `--before`. Null without the flag. */
export function earlierBuild(args: readonly string[]): Contender | null {
  const position = args.indexOf("--before");
  if (position === -1) return null;
  const executable = resolve(args[position + 1] ?? "");
  if (!existsSync(executable)) throw new Error("--before needs the path of an executable");
  return { ...skein, name: before, version: executable, command: (task) => [executable, ...skein.command(task).slice(1)] };
}

/** Builds the executable if it is missing or older than a source file. */
export async function buildSkein(): Promise<Contender> {
  if (!(await isBuilt())) await run([process.execPath, "run", "tools/build.ts"], root);
  return skein;
}

async function isBuilt(): Promise<boolean> {
  const builtAt = Bun.file(join(root, "dist/skein")).lastModified;
  if (!existsSync(join(root, "dist/skein"))) return false;
  const sources = await Array.fromAsync(new Bun.Glob("{src,tools}/**/*.ts").scan(root));
  return sources.every((name) => Bun.file(join(root, name)).lastModified <= builtAt);
}

async function run(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdin: "ignore", stdout: "ignore", stderr: "inherit", timeout: 180_000 });
  if ((await child.exited) !== 0) throw new Error(`failed: ${command.join(" ")}`);
}

function versionOf(spec: string): string {
  return spec.slice(spec.lastIndexOf("@") + 1);
}

function piModels(url: string): object {
  const models = [{ id: "claude-sonnet-4-5", contextWindow: 200_000, maxTokens: 8192 }];
  return { providers: { lab: { baseUrl: url, api: "anthropic-messages", apiKey: "dummy", models } } };
}

export function codexConfig(url: string): string {
  return `model_provider = "lab"
check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[features]
plugins = false
apps = false
plugin_discovery_prefetch = false
[model_providers.lab]
name = "lab"
base_url = "${url}/v1"
env_key = "LAB_KEY"
wire_api = "responses"
`;
}
