// Tests the real agents when their vendor fails or they are killed. Each turn ends with its status within its limit and a hint,
// leaves no process and no key, and the next turn of the session works. Two agents run at a time. opencode has its own lane,
// because it has no setting to stop its retries early.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { type ServerFault, shellScript } from "../../../src/scripted-model/script.ts";
import type { TurnError, TurnStatus } from "../../../src/protocol/api/error.ts";
import { agentHome, agentModels, type TakenTurn, takeTurn, textIn } from "../../support/agent-journey.ts";
import { watchArguments } from "../../support/argument-lists.ts";
import { excerptAround, keyVariableOf, canaryPattern, secret, withCanaries } from "../../support/canaries.ts";
import { childrenOf, waitForNoProcesses, type LivingProcess } from "../../support/processes.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

type Failure = { title: string; fault: ServerFault | "down" | "kill"; status: TurnStatus; code: number };

const failures: Failure[] = [
  { title: "a bad key", fault: { type: "status", status: 401, message: "invalid x-api-key" }, status: "auth", code: 4 },
  { title: "429", fault: { type: "status", status: 429, message: "Too many requests", retryAfter: "1" }, status: "rate-limited", code: 5 },
  {
    title: "500",
    fault: { type: "status", status: 500, message: "Internal server error", retryAfter: "1" },
    status: "overloaded",
    code: 5,
  },
  { title: "a server that is down", fault: "down", status: "network", code: 6 },
  { title: "a server that never answers", fault: { type: "stall", afterEvents: 0 }, status: "stalled", code: 124 },
  { title: "a kill in mid-call", fault: "kill", status: "killed", code: 1 },
];

const lanes = [["opencode"], ["claude", "codex", "gemini", "pi"]];
const nowhere = "http://127.0.0.1:9";
const down = { ANTHROPIC_BASE_URL: nowhere, OPENAI_BASE_URL: `${nowhere}/v1`, GOOGLE_GEMINI_BASE_URL: nowhere };
const calling = shellScript(["echo started; tail -f /dev/null"]);

type Outcome = { status: string | null; code: number; error: TurnError | undefined; survivors: LivingProcess[]; next: [number, string] };
const outcomes = new Map<string, Outcome | Error>();
const leaks = new Map<string, string[]>();
const bodies: string[] = [];
let watch: ReturnType<typeof watchArguments>;

beforeAll(async () => {
  await installPeers(peerNames);
  watch = watchArguments();
  await Promise.all(
    lanes.map(async (lane) => {
      for (const agent of lane) await runFailures(agent);
    }),
  );
}, 1_200_000);

afterAll(() => watch.stop());

async function runFailures(agent: string): Promise<void> {
  const server = startModelServer(shellScript([], "fine"));
  using skein = withCanaries(agentHome(server));
  for (const failure of failures)
    outcomes.set(
      `${agent} ${failure.title}`,
      await failAndContinue(skein, server, agent, failure).catch((error: unknown) => error as Error),
    );
  leaks.set(agent, await skein.leaks());
  await server.stop();
}

async function failAndContinue(
  skein: TemporaryHome,
  server: ModelServer,
  agent: string,
  { title, fault, status }: Failure,
): Promise<Outcome> {
  const args = ["--session", title, "-a", agent, "-m", agentModels[agent]!, "--timeout", "120s"];
  // opencode, the slowest, prints nothing for about that long at its start.
  const idle = agent === "opencode" ? "25s" : "15s";
  const env = { SKEIN_IDLE_TIMEOUT: status === "stalled" ? idle : "110s", ...(fault === "down" ? down : {}) };
  if (typeof fault === "object") server.setFault(withKey(fault, agent));
  if (fault === "kill") server.setScript(calling);
  const ended = new AbortController();
  if (fault === "kill") void killCli(skein, ended.signal);
  const failed = await takeTurn(skein, server, [...args, "do it"], env).finally(() => ended.abort());
  const survivors = await waitForNoProcesses(skein.root);
  server.setFault(null);
  server.setScript(shellScript([], "fine"));
  recordBodies(server);
  const next = await takeTurn(skein, server, [...args, "go on"], { SKEIN_IDLE_TIMEOUT: "60s" });
  recordBodies(server);
  return { status: failed.turn.status, code: failed.ran.code, error: failed.turn.error, survivors, next: [next.ran.code, answerOf(next)] };
}

/** Adds the key to the error, because some vendors repeat the key that they refuse. */
function withKey(fault: ServerFault, agent: string): ServerFault {
  return fault.type === "status" ? { ...fault, message: `${fault.message} (${secret(keyVariableOf(agent))})` } : fault;
}

function recordBodies({ requests }: ModelServer): void {
  bodies.push(...requests.map(({ text }) => text).filter((text) => canaryPattern.test(text)));
}

function answerOf({ nodes, turn }: TakenTurn): string {
  return turn.error?.message ?? textIn(nodes.at(-1));
}

/** Waits for the call, then kills only the CLI: the child of the shell that the sandbox starts before it. */
async function killCli(skein: TemporaryHome, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await Bun.sleep(50);
    const isOfHome = (pid: number) => ancestorsOf(pid).some((parent) => rootOf(parent) === skein.root);
    const call = childrenOf(process.pid).find(({ pid, command }) => command === "tail -f /dev/null" && isOfHome(pid));
    if (call === undefined) continue;
    const ancestors = ancestorsOf(call.pid);
    const shell = ancestors.findIndex((pid) => textOf(`/proc/${pid}/cmdline`).startsWith('/bin/sh\0-c\0"$@"; exit'));
    return void process.kill(ancestors[shell - 1]!, "SIGKILL");
  }
}

function rootOf(pid: number): string | undefined {
  return /(?:^|\0)SKEIN_HOME=([^\0]*)\/skein\0/.exec(textOf(`/proc/${pid}/environ`))?.[1];
}

/** Returns the process itself first. */
function ancestorsOf(pid: number): number[] {
  const stat = textOf(`/proc/${pid}/stat`);
  const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  return pid > 1 && parent > 0 ? [pid, ...ancestorsOf(parent)] : [pid];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

describe.each(peerNames.map((name) => [name] as const))("%s", (agent) => {
  test.each(failures.map((failure) => [failure.title, failure] as const))(
    "after %s the turn ends with its status, and the next turn works",
    (title, { status, code }) => {
      const outcome = outcomes.get(`${agent} ${title}`);
      if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error("it was not tried");
      const { error, ...rest } = outcome;
      expect({ ...rest, kind: error?.kind, message: error?.message }).toEqual({
        status,
        code,
        kind: status,
        message: expect.any(String),
        survivors: [],
        next: [0, "fine"],
      });
      expect(error?.hint ?? "").not.toBe("");
    },
  );

  test("no file or stream of the agent contains a key", () => {
    expect(leaks.get(agent)).toEqual([]);
  });
});

test("no argument list or request body contained a key", () => {
  expect(watch.lists().some((list) => list.includes("/launcher-"))).toBe(true);
  for (const texts of [bodies, watch.lists()]) expect(texts.filter((text) => canaryPattern.test(text)).map(excerptAround)).toEqual([]);
});
