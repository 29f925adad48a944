// Runs a real CLI with its adapter, in a temporary home and project, against the scripted model server.
// As a program, `bun test/support/record-cli.ts <adapter> [scenario ...]` writes the recordings for the tests.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { peersBin, peersDir } from "../../bench/peers.ts";
import type { Adapter, CliLaunch } from "../../src/agents/external/adapters/adapter.ts";
import { findExternalAgent } from "../../src/agents/external/adapters/index.ts";
import { endFamily } from "../../src/kit/process/processes.ts";
import { type ModelServer, type ScriptSource, startModelServer } from "../../src/scripted-model/model-server.ts";
import { type ServerFault, type Script, shellScript } from "../../src/scripted-model/script.ts";

export type CliRun = { stdout: string; stderr: string; exitCode: number | null; signal: string | null; args: string[] };

/** The configuration directory and project of one tree, the same for every run in it. */
export type CliSite = {
  root: string;
  server: ModelServer;
  launch: (changes: Partial<CliLaunch>) => CliLaunch;
  /** Runs the CLI until it exits. If stdout matches `killAt`, the CLI and its processes are ended. */
  run: (launch: CliLaunch, killAt?: RegExp) => Promise<CliRun>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

export function openCliSite(adapter: Adapter, model: string, script: ScriptSource): CliSite {
  const root = mkdtempSync(join(tmpdir(), "skein-cli-"));
  const [configDir, directory, home] = ["config", "project", "home"].map((name) => join(root, name)) as [string, string, string];
  for (const path of [configDir, join(directory, ".git"), home]) mkdirSync(path, { recursive: true, mode: 0o700 });
  const server = startModelServer(script);
  return {
    root,
    server,
    launch: (changes) => ({
      prompt: "Say one, two, three.",
      model,
      effort: null,
      role: null,
      directory,
      addDirs: [],
      configDir,
      start: { how: "new", id: crypto.randomUUID() },
      endpoint: { url: server.url, token: "throw-away-token" },
      isSandboxed: true,
      isRoot: process.getuid?.() === 0,
      isOffline: true,
      servers: { list: [], values: {} },
      extraArgs: [],
      ...changes,
    }),
    run: (launch, killAt) => runCli(adapter, launch, { root, home, killAt: killAt ?? null }),
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

const maxRunMs = 180_000;

async function runCli(adapter: Adapter, launch: CliLaunch, site: { root: string; home: string; killAt: RegExp | null }): Promise<CliRun> {
  for (const [name, text] of Object.entries(adapter.files(launch))) {
    mkdirSync(dirname(join(launch.configDir, name)), { recursive: true });
    await Bun.write(join(launch.configDir, name), text);
  }
  const args = adapter.args(launch);
  const input = adapter.stdin?.(launch) ?? null;
  const child = Bun.spawn([join(peersBin, adapter.program), ...args], {
    cwd: launch.directory,
    env: { ...plainEnv(site), SKEIN_RECORDED: site.root, ...adapter.env(launch) },
    stdin: input === null ? "ignore" : new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
  const family = { root: child.pid, envTag: `SKEIN_RECORDED=${site.root}` };
  const limit = setTimeout(() => void endFamily(family, 100), maxRunMs);
  const stderr = new Response(child.stderr).text();
  let stdout = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    stdout += decoder.decode(chunk, { stream: true });
    if (!site.killAt?.test(stdout)) continue;
    site.killAt = null;
    setTimeout(() => void endFamily(family, 3000), 1000);
  }
  await child.exited;
  clearTimeout(limit);
  await endFamily(family, 1000);
  const signal = child.signalCode === null ? null : String(child.signalCode);
  return { stdout, stderr: await stderr, exitCode: signal === null ? child.exitCode : null, signal, args };
}

function plainEnv(site: { root: string; home: string }): Record<string, string> {
  const path = `${peersBin}:${process.env["PATH"] ?? "/usr/bin:/bin"}`;
  return { PATH: path, HOME: site.home, TMPDIR: site.root, LANG: "C.UTF-8", TERM: "dumb", USER: "user", SHELL: "/bin/sh" };
}

export type Scenario = {
  script: ScriptSource;
  /** The runs, of which only the last is recorded. A resume or fork uses the session of the first. */
  starts: ("new" | "resume" | "fork" | "unknown")[];
  fault?: ServerFault;
  /** Stops the server before the runs. */
  isDown?: boolean;
  killAt?: RegExp;
  effort?: string;
  model?: string;
  /** The only adapter with this scenario. */
  only?: string;
  /** Changes the adapter's arguments. */
  edit?: (args: string[]) => string[];
};

const three = shellScript(["echo one-11", "echo two-12", "echo three-13; exit 3"], "All three were said.");
const answer: Script = { steps: [], final: "Only this." };
const child = { description: "a child", prompt: "Child: look below.", subagent_type: "general-purpose", run_in_background: false };
const delegating: Script = { steps: [{ calls: [{ name: "Agent", input: child }] }], final: "The child was heard." };

export const scenarios: Record<string, Scenario> = {
  new: { script: three, starts: ["new"] },
  resume: { script: answer, starts: ["new", "resume"] },
  fork: { script: answer, starts: ["new", "fork"] },
  thinking: {
    script: {
      steps: [{ thinking: "I weigh it first.", text: "I look.", calls: [{ input: { command: "echo seen" } }] }],
      final: "It was seen.",
    },
    starts: ["new"],
    effort: "high",
  },
  parallel: {
    script: { steps: [{ calls: [{ input: { command: "echo left" } }, { input: { command: "echo right" } }] }], final: "Both." },
    starts: ["new"],
  },
  "status-400": {
    script: answer,
    starts: ["new"],
    fault: { type: "status", status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" },
  },
  "status-401": { script: answer, starts: ["new"], fault: { type: "status", status: 401, message: "invalid x-api-key" } },
  "status-404": { script: answer, starts: ["new"], fault: { type: "status", status: 404, message: "model: no-such-model" } },
  "status-429": { script: answer, starts: ["new"], fault: { type: "status", status: 429, message: "Too many requests" } },
  "status-500": { script: answer, starts: ["new"], fault: { type: "status", status: 500, message: "Internal server error" } },
  "status-529": { script: answer, starts: ["new"], fault: { type: "status", status: 529, message: "Overloaded" } },
  refused: { script: answer, starts: ["new"], isDown: true },
  dropped: { script: answer, starts: ["new"], fault: { type: "drop" } },
  "unknown-resume": { script: answer, starts: ["unknown"] },
  killed: { script: shellScript(["echo begun; sleep 600"]), starts: ["new"], killAt: /sleep 600|"step_start"/ },
  empty: { script: answer, starts: ["new"], fault: { type: "empty" } },
  "sub-agent": {
    only: "claude",
    script: ({ position }) => (position.prompt.startsWith("Child") ? shellScript(["echo below"], "The child is done.") : delegating),
    starts: ["new"],
    edit: (args) => args.map((arg) => (arg.startsWith("--tools=") ? "--tools=default" : arg)),
  },
  "one-object": { only: "claude", script: three, starts: ["new"], edit: (args) => asJson(args).filter((arg) => arg !== "--verbose") },
  "one-array": { only: "claude", script: three, starts: ["new"], edit: asJson },
  "newest-model": { only: "codex", script: three, starts: ["new"], model: "gpt-6-sol", effort: "low" },
};

function asJson(args: string[]): string[] {
  const remaining = args.filter((arg) => arg !== "--include-partial-messages" && arg !== "--forward-subagent-text");
  return remaining.map((arg) => (arg === "--output-format=stream-json" ? "--output-format=json" : arg));
}

export async function recordScenario(adapter: Adapter, model: string, name: string, unknownId: string): Promise<void> {
  const scenario = scenarios[name];
  if (scenario === undefined) throw new Error(`no scenario ${name}; there are ${Object.keys(scenarios).join(", ")}`);
  const { edit = (args) => args } = scenario;
  const edited: Adapter = { ...adapter, args: (launch) => edit(adapter.args(launch)) };
  await using site = openCliSite(edited, scenario.model ?? model, scenario.script);
  if (scenario.fault !== undefined) site.server.setFault(scenario.fault);
  let id = crypto.randomUUID() as string;
  let run: CliRun | null = null;
  if (scenario.isDown) await site.server.stop();
  for (const how of scenario.starts) {
    const start: CliLaunch["start"] =
      how === "fork" ? { how, id, forkId: crypto.randomUUID() } : how === "unknown" ? { how: "resume", id: unknownId } : { how, id };
    const prompt = how === "new" ? "Say one, two, three." : "And once more.";
    const effort = scenario.effort !== undefined && adapter.efforts.includes(scenario.effort) ? scenario.effort : null;
    run = await site.run(site.launch({ start, prompt, effort }), scenario.killAt);
    id = nativeIdOf(adapter, run.stdout) ?? id;
  }
  if (run === null) return;
  const requests = site.server.main().length;
  const text = createNormalizer(site);
  const dir = join(import.meta.dir, "..", "fixtures", "clis", adapter.name);
  await Bun.write(join(dir, `${name}.jsonl`), text(run.stdout));
  await Bun.write(join(dir, `${name}.stderr`), text(run.stderr));
  const { exitCode, signal, args } = run;
  await Bun.write(join(dir, `${name}.json`), `${text(JSON.stringify({ exitCode, signal, requests, args }, null, 2))}\n`);
  console.log(
    `${adapter.name} ${name}: exit ${exitCode ?? signal}, ${requests} requests, ${run.stdout.length} + ${run.stderr.length} bytes`,
  );
}

export function nativeIdOf(adapter: Adapter, stdout: string): string | null {
  const reader = adapter.reader();
  const events = stdout.split("\n").flatMap((line) => (line === "" ? [] : reader.line(line)));
  return events.findLast((event) => event.type === "session")?.id ?? null;
}

/** Replaces paths, ports, times and ids by placeholders, so that recordings are the same on every machine. */
function createNormalizer(site: CliSite): (text: string) => string {
  const ids = new Map<string, string>();
  const placeholder = (id: string, make: (number: number) => string): string => {
    const replacement = ids.get(id) ?? make(ids.size + 1);
    ids.set(id, replacement);
    return replacement;
  };
  return (text) =>
    text
      .replaceAll(/^\{.*"toolsAdded":.*$/gm, withoutPrompt)
      .replaceAll(site.root, "/site")
      .replaceAll(site.root.replaceAll(/[^A-Za-z0-9]/g, "-"), "-site")
      .replaceAll(peersDir, "/peers")
      .replaceAll(`${homedir()}/`, "/home/user/")
      .replaceAll(/(127\.0\.0\.1|localhost):\d+/g, "$1:1")
      .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, "2026-01-01T00:00:00.000Z")
      .replaceAll(/\b1[78]\d{11}\b/g, "1767225600000")
      .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, (id) =>
        placeholder(id, (number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`),
      )
      .replaceAll(/\b(ses|msg|prt)_[0-9A-Za-z]{20,}\b/g, (id) => placeholder(id, (number) => `${id.slice(0, 4)}${number}`));
}

/** Removes pi's system prompt, which it prints three times. */
function withoutPrompt(line: string): string {
  const cut: Record<string, unknown> = { toolsAdded: [], sections: {} };
  return JSON.stringify(JSON.parse(line), (key, value: unknown) => cut[key] ?? value);
}

/** The model and the id of a missing session in the recordings of each CLI. */
const recorded: Record<string, { model: string; unknownId: string }> = {
  claude: { model: "claude-sonnet-4-5", unknownId: "00000000-0000-4000-8000-00000000dead" },
  codex: { model: "gpt-5.2", unknownId: "00000000-0000-4000-8000-00000000dead" },
  gemini: { model: "gemini-3-pro-preview", unknownId: "00000000-0000-4000-8000-00000000dead" },
  opencode: { model: "claude-sonnet-4-5", unknownId: "ses_00000000000000000000000000" },
  pi: { model: "claude-sonnet-4-5", unknownId: "00000000-0000-4000-8000-00000000dead" },
};

async function main(name: string, requested: string[]): Promise<void> {
  const entry = findExternalAgent(name);
  const request = recorded[name];
  if (entry === undefined || request === undefined) throw new Error(`no adapter ${name}`);
  const adapter = await entry.load();
  const fits = (scenario: string) => (scenarios[scenario]?.only ?? name) === name && (scenario !== "fork" || entry.canFork);
  const names = requested.length > 0 ? requested : Object.keys(scenarios).filter(fits);
  for (const scenario of names) await recordScenario(adapter, request.model, scenario, request.unknownId);
}

if (import.meta.main) void main(process.argv[2] ?? "", process.argv.slice(3)).then(() => process.exit(0));
