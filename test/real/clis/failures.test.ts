// The real agents when their vendor fails or they are killed: each turn ends as its kind within its limit, says what to do,
// leaves nothing running and no key behind, and the next turn of the session works. Two agents at a time; opencode, which alone can't be told
// to give up early, has a lane of its own.
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

type Row = { title: string; fault: ServerFault | "down" | "kill"; status: TurnStatus; code: number };

const rows: Row[] = [
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
const calling = shellScript(["echo begun; tail -f /dev/null"]);

type Seen = { status: string | null; code: number; error: TurnError | undefined; left: LivingProcess[]; next: [number, string] };
const seen = new Map<string, Seen | Error>();
const leaks = new Map<string, string[]>();
const bodies: string[] = [];
let watch: ReturnType<typeof watchArguments>;

beforeAll(async () => {
  await installPeers(peerNames);
  watch = watchArguments();
  await Promise.all(
    lanes.map(async (lane) => {
      for (const agent of lane) await walk(agent);
    }),
  );
}, 1_200_000);

afterAll(() => watch.stop());

async function walk(agent: string): Promise<void> {
  const server = startModelServer(shellScript([], "fine"));
  using skein = withCanaries(agentHome(server));
  for (const row of rows)
    seen.set(`${agent} ${row.title}`, await failAndGoOn(skein, server, agent, row).catch((error: unknown) => error as Error));
  leaks.set(agent, await skein.leaks());
  await server.stop();
}

async function failAndGoOn(skein: TemporaryHome, server: ModelServer, agent: string, { title, fault, status }: Row): Promise<Seen> {
  const args = ["--session", title, "-a", agent, "-m", agentModels[agent]!, "--timeout", "120s"];
  // A fresh start of the slowest is as silent for as long as that.
  const idle = agent === "opencode" ? "25s" : "15s";
  const env = { SKEIN_IDLE_TIMEOUT: status === "stalled" ? idle : "110s", ...(fault === "down" ? down : {}) };
  if (typeof fault === "object") server.setFault(withKey(fault, agent));
  if (fault === "kill") server.setScript(calling);
  const over = new AbortController();
  if (fault === "kill") void killCli(skein, over.signal);
  const failed = await takeTurn(skein, server, [...args, "do it"], env).finally(() => over.abort());
  const left = await waitForNoProcesses(skein.root);
  server.setFault(null);
  server.setScript(shellScript([], "fine"));
  noteBodies(server);
  const next = await takeTurn(skein, server, [...args, "go on"], { SKEIN_IDLE_TIMEOUT: "60s" });
  noteBodies(server);
  return { status: failed.turn.status, code: failed.ran.code, error: failed.turn.error, left, next: [next.ran.code, answerOf(next)] };
}

/** As vendors do who repeat the key that they refuse. */
function withKey(fault: ServerFault, agent: string): ServerFault {
  return fault.type === "status" ? { ...fault, message: `${fault.message} (${secret(keyVariableOf(agent))})` } : fault;
}

function noteBodies({ requests }: ModelServer): void {
  bodies.push(...requests.map(({ text }) => text).filter((text) => canaryPattern.test(text)));
}

function answerOf({ nodes, turn }: TakenTurn): string {
  return turn.error?.message ?? textIn(nodes.at(-1));
}

/** As soon as its call runs. Only the CLI itself is killed: the child of the shell that our walls put before it. */
async function killCli(skein: TemporaryHome, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await Bun.sleep(50);
    const isOurs = (pid: number) => ancestorsOf(pid).some((above) => rootOf(above) === skein.root);
    const call = childrenOf(process.pid).find(({ pid, command }) => command === "tail -f /dev/null" && isOurs(pid));
    if (call === undefined) continue;
    const line = ancestorsOf(call.pid);
    const keeper = line.findIndex((pid) => textOf(`/proc/${pid}/cmdline`).startsWith('/bin/sh\0-c\0"$@"; exit'));
    return void process.kill(line[keeper - 1]!, "SIGKILL");
  }
}

function rootOf(pid: number): string | undefined {
  return /(?:^|\0)SKEIN_HOME=([^\0]*)\/skein\0/.exec(textOf(`/proc/${pid}/environ`))?.[1];
}

/** Itself first. */
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
  test.each(rows.map((row) => [row.title, row] as const))("%s", (title, { status, code }) => {
    const found = seen.get(`${agent} ${title}`);
    if (found === undefined || found instanceof Error) throw found ?? new Error("it was not tried");
    const { error, ...rest } = found;
    expect({ ...rest, kind: error?.kind, message: error?.message }).toEqual({
      status,
      code,
      kind: status,
      message: expect.any(String),
      left: [],
      next: [0, "fine"],
    });
    expect(error?.hint ?? "").not.toBe("");
  });

  test("leaves no key in a file or a stream", () => {
    expect(leaks.get(agent)).toEqual([]);
  });
});

test("no argument list and no request body held a key", () => {
  expect(watch.lists().some((list) => list.includes("__launch"))).toBe(true);
  for (const texts of [bodies, watch.lists()]) expect(texts.filter((text) => canaryPattern.test(text)).map(excerptAround)).toEqual([]);
});
