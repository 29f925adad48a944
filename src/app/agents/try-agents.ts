// `doctor --agents`: tries every installed CLI in separate apps, with temporary homes, dummy keys and the scripted model
// as every vendor. Caches the abilities that the trial showed.
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { runTrial } from "../../agents/trial/run-trial.ts";
import type { TrialSite } from "../../agents/trial/trial-site.ts";
import { type ModelServer, startModelServer } from "../../scripted-model/model-server.ts";
import type { Adapter } from "../../agents/external/adapters/adapter.ts";
import { type AgentEntry, externalAgents } from "../../agents/external/adapters/index.ts";
import type { Program } from "../../agents/external/process/program.ts";
import { toolEnvironment } from "../../executor/environment.ts";
import { programSearch, type AppContext } from "../app-context.ts";
import { trustedEnvironment } from "../../kit/process/trusted-programs.ts";
import { createSlots, type Slots } from "../../kit/flow/slots.ts";
import type { AgentsReport, AgentTrial, TrialCheck, TrialCheckName } from "../../protocol/api/agents.ts";
import type { Api, TryAgentsParams } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { loadSandboxSupport } from "../executors/sandbox-support.ts";
import { cacheFindings } from "./agent-cache.ts";
import { findInstalled } from "./external-agents.ts";
import { findVersion } from "./list-agents.ts";

/** Creates an ephemeral app with another environment. */
export type CreateTrialApp = (env: Record<string, string | undefined>, cwd: string) => Api;

export async function tryAgents(ctx: AppContext, createApp: CreateTrialApp, params: TryAgentsParams): Promise<AgentsReport> {
  const loadCli = async (entry: (typeof externalAgents)[number]) => {
    const adapter = await entry.load();
    return { entry, adapter, ...findInstalled(ctx, adapter.program) };
  };
  const clis = await Promise.all(externalAgents.map(loadCli));
  const installed = clis.flatMap(({ entry, adapter, program }) => (program === null ? [] : [{ entry, adapter, program }]));
  if (installed.length > 0) {
    await checkLoopback();
    // Probes the sandbox once for all apps.
    await loadSandboxSupport(ctx);
  }
  const slots = createSlots(Math.min(availableParallelism() + 2, 8));
  let done = 0;
  const report = (agent: string, check: TrialCheckName | null) => params.onProgress?.({ agent, check, done, of: installed.length });
  const trials = installed.map(async ({ entry, adapter, program }) => {
    const trial = await tryOne(ctx, createApp, { entry, adapter, program, slots, params, onCheck: (check) => report(adapter.name, check) });
    done += 1;
    report(adapter.name, null);
    return trial;
  });
  await Promise.allSettled(trials);
  const agents = await Promise.all(trials);
  return {
    ok: agents.every((agent) => agent.works),
    agents,
    notInstalled: clis.flatMap(({ adapter, program, refused }) =>
      program === null ? [{ agent: adapter.name, hint: adapter.install, refused: refused?.text ?? null }] : [],
    ),
  };
}

/** A proxy may intercept requests to this machine. That is no failure of an agent. */
async function checkLoopback(): Promise<void> {
  const server = startModelServer({ steps: [], final: "" });
  try {
    const answer = await fetch(server.url, { signal: AbortSignal.timeout(5_000) });
    if ((await answer.text()) === "scripted model server") return;
  } catch {
    // Handled below, like a wrong answer.
  } finally {
    await server.stop();
  }
  throw new Fault("network", "the scripted model on 127.0.0.1 can't be reached from here", {
    hint: "where HTTP_PROXY is set, NO_PROXY must name 127.0.0.1",
  });
}

type CliTrial = {
  entry: AgentEntry;
  adapter: Adapter;
  program: Program;
  slots: Slots;
  params: TryAgentsParams;
  onCheck: (name: TrialCheckName) => void;
};

async function tryOne(ctx: AppContext, createApp: CreateTrialApp, trial: CliTrial): Promise<AgentTrial> {
  const { entry, adapter, program, slots, onCheck } = trial;
  const signal = trial.params.signal ?? new AbortController().signal;
  const startedAt = performance.now();
  const [version, checks] = await Promise.all([
    findVersion(ctx, adapter, program),
    runTrial({
      agent: adapter.name,
      model: models[adapter.vendor]!,
      canFork: entry.canFork,
      limitMs: maxTurnMs,
      openSite: async (script, { marker, fault }) => {
        const server = startModelServer(script, { marker });
        server.setFault(fault);
        return openTrialSite(ctx, createApp, signal, server);
      },
      slots,
      signal,
      onCheck,
    }),
  ]);
  signal.throwIfAborted();
  if (!ctx.ephemeral) cacheFindings(ctx.paths.state, program, { ...findAbilities(checks, entry), at: Date.now(), ...verdictOf(checks) });
  return {
    ...verdictOf(checks),
    agent: adapter.name,
    path: program.path,
    version,
    durationMs: Math.round(performance.now() - startedAt),
    checks,
  };
}

const maxTurnMs = 60_000;

/** None of these is the default of a CLI, so that an ignored option is noticed. */
const models: Record<string, string> = {
  anthropic: "anthropic/claude-sonnet-4-5",
  openai: "openai/gpt-5.2",
  gemini: "gemini/gemini-3-pro-preview",
};

/** An agent that can't resume or fork still works: it gets the conversation so far instead. */
function verdictOf(checks: TrialCheck[]): Pick<AgentTrial, "works" | "reason"> {
  const failed = checks.find(({ name, outcome }) => outcome === "failed" && name !== "resume" && name !== "fork");
  return { works: failed === undefined, reason: failed?.detail ?? null };
}

/** An ability that could not be tried is taken from the table of agents. */
function findAbilities(checks: TrialCheck[], { canFork }: AgentEntry): { resume: boolean; fork: boolean } {
  const canDo = (name: TrialCheckName, fallback: boolean) => {
    const outcome = checks.find((check) => check.name === name)?.outcome;
    return outcome === "untried" ? fallback : outcome === "ok";
  };
  return { resume: canDo("resume", true), fork: canDo("fork", canFork) };
}

function openTrialSite(ctx: AppContext, createApp: CreateTrialApp, signal: AbortSignal, server: ModelServer): TrialSite {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-trial-")));
  const project = join(root, "project");
  for (const folder of [join(project, ".git"), join(root, "home"), join(root, "skein", "state")])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  copySandboxProbe(ctx, root);
  const api = createApp(trialEnv(ctx, root, server.url), project);
  let closing: Promise<void> | null = null;
  const closeApi = () => (closing ??= api.close());
  const stop = () => void closeApi();
  signal.addEventListener("abort", stop, { once: true });
  return {
    api,
    server,
    project,
    async close() {
      signal.removeEventListener("abort", stop);
      await closeApi();
      await server.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Copies the result of the sandbox probe into the app's state directory. */
function copySandboxProbe({ paths }: AppContext, root: string): void {
  try {
    copyFileSync(join(paths.state, "sandbox.json"), join(root, "skein", "state", "sandbox.json"));
  } catch {
    // Without the file, each app probes the sandbox itself.
  }
}

/** The variables that tools may see, without the user's directories and proxies. The app must find the same programs as here. */
function trialEnv(ctx: AppContext, root: string, url: string): Record<string, string | undefined> {
  const visible = Object.entries(trustedEnvironment(toolEnvironment(ctx.env), programSearch(ctx))).filter(
    ([name]) => !/^XDG_|_proxy$/i.test(name),
  );
  return {
    ...Object.fromEntries(visible),
    HOME: join(root, "home"),
    SKEIN_HOME: join(root, "skein"),
    SKEIN_SANDBOX_BEST: ctx.env["SKEIN_SANDBOX_BEST"],
    SKEIN_SANDBOX_LAUNCHER: ctx.env["SKEIN_SANDBOX_LAUNCHER"],
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: dummyKey,
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: dummyKey,
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: dummyKey,
  };
}

const dummyKey = "no-real-key";
