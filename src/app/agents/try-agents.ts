// `doctor --agents`: every installed command line is tried in houses of its own, with temporary homes, dummy keys and
// the scripted server as every vendor. What comes out is kept as what that very program can do.
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { runTrial } from "../../agents/trial/run-trial.ts";
import type { TrialSite } from "../../agents/trial/trial-site.ts";
import { type ModelServer, startModelServer } from "../../scripted-model/model-server.ts";
import type { Adapter } from "../../agents/external/adapters/adapter.ts";
import { adapters } from "../../agents/external/adapters/index.ts";
import { findProgram, type Program, readProgram } from "../../agents/external/process/program.ts";
import { toolEnvironment } from "../../executor/environment.ts";
import type { AppContext } from "../create-app.ts";
import { createSlots, type Slots } from "../../kit/flow/slots.ts";
import type { AgentsReport, AgentTrial, TrialCheck, TrialCheckName } from "../../protocol/api/agents.ts";
import type { Api, TryAgentsParams } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { loadSandboxSupport } from "../executors/executors.ts";
import { cacheFindings } from "./agent-cache.ts";
import { findVersion } from "./list-agents.ts";

/** A house that keeps nothing, in another environment. */
export type CreateTrialApp = (env: Record<string, string | undefined>, cwd: string) => Api;

export async function tryAgents(ctx: AppContext, build: CreateTrialApp, params: TryAgentsParams): Promise<AgentsReport> {
  const found = Object.values(adapters).map((adapter) => ({ adapter, path: findProgram(adapter.program, ctx.env["PATH"] ?? "") }));
  const installed = found.flatMap(({ adapter, path }) => (path === null ? [] : [{ adapter, program: readProgram(path) }]));
  if (installed.length > 0) {
    await checkLoopback();
    // Once for all of them: each house would try out the machine by itself.
    await loadSandboxSupport(ctx);
  }
  const slots = createSlots(Math.min(availableParallelism() + 2, 8));
  let done = 0;
  const tell = (agent: string, check: TrialCheckName | null) => params.onProgress?.({ agent, check, done, of: installed.length });
  const trials = installed.map(async ({ adapter, program }) => {
    const trial = await tryOne(ctx, build, { adapter, program, slots, params, onCheck: (check) => tell(adapter.name, check) });
    done += 1;
    tell(adapter.name, null);
    return trial;
  });
  await Promise.allSettled(trials);
  const agents = await Promise.all(trials);
  return {
    ok: agents.every((agent) => agent.works),
    agents,
    notInstalled: found.filter(({ path }) => path === null).map(({ adapter }) => ({ agent: adapter.name, hint: adapter.install })),
  };
}

/** No agent is to blame for a proxy that takes what is meant for this machine. */
async function checkLoopback(): Promise<void> {
  const server = startModelServer({ steps: [], final: "" });
  try {
    const answer = await fetch(server.url, { signal: AbortSignal.timeout(5_000) });
    if ((await answer.text()) === "scripted model server") return;
  } catch {
    // As bad as another answer.
  } finally {
    await server.stop();
  }
  throw new Fault("network", "the scripted model on 127.0.0.1 can't be reached from here", {
    hint: "where HTTP_PROXY is set, NO_PROXY must name 127.0.0.1",
  });
}

type One = { adapter: Adapter; program: Program; slots: Slots; params: TryAgentsParams; onCheck: (name: TrialCheckName) => void };

async function tryOne(ctx: AppContext, build: CreateTrialApp, one: One): Promise<AgentTrial> {
  const { adapter, program, slots, onCheck } = one;
  const signal = one.params.signal ?? new AbortController().signal;
  const startedAt = performance.now();
  const [version, checks] = await Promise.all([
    findVersion(ctx, adapter, program),
    runTrial({
      agent: adapter.name,
      model: models[adapter.wire],
      canFork: adapter.canFork,
      limitMs: longestTurnMs,
      openSeat: async (script, { marker, fault }) => {
        const server = startModelServer(script, { marker });
        server.setFault(fault);
        return openTrialSite(ctx, build, signal, server);
      },
      slots,
      signal,
      onCheck,
    }),
  ]);
  signal.throwIfAborted();
  const trial = {
    ...judged(checks),
    agent: adapter.name,
    path: program.path,
    version,
    durationMs: Math.round(performance.now() - startedAt),
  };
  if (!ctx.ephemeral) cacheFindings(ctx.paths.state, program, { ...abilities(checks, adapter), at: Date.now(), ...judged(checks) });
  return { ...trial, checks };
}

const longestTurnMs = 60_000;

/** None of them is an agent's own default. */
const models: Record<Adapter["wire"], string> = {
  anthropic: "anthropic/claude-sonnet-4-5",
  "openai-responses": "openai/gpt-5.2",
  "openai-chat": "openai/gpt-5.2",
  gemini: "gemini/gemini-3-pro-preview",
};

/** Without sessions of its own it is told the earlier conversation: slower, but not broken. */
function judged(checks: TrialCheck[]): Pick<AgentTrial, "works" | "reason"> {
  const failed = checks.find(({ name, outcome }) => outcome === "failed" && name !== "resume" && name !== "fork");
  return { works: failed === undefined, reason: failed?.detail ?? null };
}

/** What could not be tried is as the adapter says. */
function abilities(checks: TrialCheck[], { canFork }: Adapter): { resume: boolean; fork: boolean } {
  const shown = (name: TrialCheckName, claim: boolean) => {
    const outcome = checks.find((check) => check.name === name)?.outcome;
    return outcome === "untried" ? claim : outcome === "ok";
  };
  return { resume: shown("resume", true), fork: shown("fork", canFork) };
}

function openTrialSite(ctx: AppContext, build: CreateTrialApp, signal: AbortSignal, server: ModelServer): TrialSite {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-trial-")));
  const project = join(root, "project");
  for (const folder of [join(project, ".git"), join(root, "home"), join(root, "skein", "state")])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  carryOver(ctx, root);
  const api = build(innerEnv(ctx, root, server.url), project);
  let closing: Promise<void> | null = null;
  const leave = () => (closing ??= api.close());
  const stop = () => void leave();
  signal.addEventListener("abort", stop, { once: true });
  return {
    api,
    server,
    project,
    async close() {
      signal.removeEventListener("abort", stop);
      await leave();
      await server.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** What is known about this machine's walls. */
function carryOver({ paths }: AppContext, root: string): void {
  try {
    copyFileSync(join(paths.state, "sandbox.json"), join(root, "skein", "state", "sandbox.json"));
  } catch {
    // Then each house tries them out.
  }
}

/** What tools may see of the user's environment, without the user's own places and proxies. */
function innerEnv(ctx: AppContext, root: string, url: string): Record<string, string | undefined> {
  const seen = Object.entries(toolEnvironment(ctx.env)).filter(([name]) => !/^XDG_|_proxy$/i.test(name));
  return {
    ...Object.fromEntries(seen),
    HOME: join(root, "home"),
    SKEIN_HOME: join(root, "skein"),
    SKEIN_SANDBOX_BEST: ctx.env["SKEIN_SANDBOX_BEST"],
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: dummyKey,
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: dummyKey,
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: dummyKey,
  };
}

const dummyKey = "no-real-key";
