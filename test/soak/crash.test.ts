// Kills skein with SIGKILL at random moments. Printed events must be stored, no process may survive, and --resume must continue.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { textOf } from "../../src/protocol/tree/node.ts";
import { openStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../../src/store/store.ts";
import { readTranscript } from "../../src/store/fixtures/read-transcript.ts";
import { readEvents, type PrintedEvent } from "../support/read-events.ts";
import { startModelServer, type ModelServer, type RecordedRequest } from "../../src/scripted-model/model-server.ts";
import { shellScript, type Script } from "../../src/scripted-model/script.ts";
import { waitForNoProcesses, processesOf } from "../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../support/temporary-home.ts";

const model = wireModels.anthropic;
const kills = 50;
const latestMs = 1400;
const latestEvent = 120;

// One call in ten starts a daemon in its own process session. It must not outlive skein either.
const hundredCalls = shellScript(
  Array.from(
    { length: 100 },
    (_, index) =>
      `echo line-${index}; echo ${index} >> counted.txt; ${index % 10 === 3 ? "setsid sleep 60 > /dev/null 2>&1 & " : ""}sleep 0.0${1 + (index % 3)}`,
  ),
  "counted to a hundred",
);
const atOnce: Script = { steps: [], final: "went on and ended" };

test("events printed before any of fifty kills are stored, and the resumed turn sends the model the state of its call", async () => {
  const random = seeded(19_731);
  const killed = new Set<string>();
  const server = startModelServer(({ position }) => (killed.has(position.prompt) ? atOnce : hundredCalls));
  const moments = Array.from({ length: kills }, (_, index) => ({
    task: `count to a hundred, kill ${String(index).padStart(2, "0")}`,
    // Most kills wait for a number of events. On a slow machine a kill by time alone is always an early one.
    events: index % 4 === 0 ? 0 : 1 + Math.floor(random() * latestEvent),
    ms: Math.round(random() * (index % 4 === 0 ? latestMs : 40)),
  }));
  const counts = { resumed: 0, withRunningCall: 0 };
  const lane = async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    for (let next = moments.pop(); next !== undefined; next = moments.pop()) {
      const { id, printed } = await killAfter(skein, next);
      killed.add(next.task);
      if (!(await checkStored(skein, id, printed))) continue;
      counts.resumed += 1;
      if (checkCallResults(await resume(skein, server, id, next.task), printed)) counts.withRunningCall += 1;
    }
    await checkVerified(skein);
  };
  try {
    await Promise.all([lane(), lane()]);
    expect(counts.resumed).toBeGreaterThan(kills / 2);
    expect(counts.withRunningCall).toBeGreaterThan(kills / 5);
  } finally {
    await server.stop();
  }
});

/** The kill comes `ms` after the given number of events. */
type Moment = { task: string; events: number; ms: number };

async function killAfter(skein: TemporaryHome, { task, events, ms }: Moment): Promise<{ id: string; printed: PrintedEvent[] }> {
  const id = Bun.randomUUIDv7();
  const run = readEvents(skein.start(["run", task, "-m", model, "--session-id", id, "--output-format", "events"]));
  if (events > 0) await run.until(() => run.printed.length >= events);
  await Bun.sleep(ms);
  run.child.kill("SIGKILL");
  await run.ended;
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
  return { id, printed: run.printed };
}

/** Returns true if the last turn can be resumed. */
async function checkStored(skein: TemporaryHome, id: string, printed: PrintedEvent[]): Promise<boolean> {
  return withStore(skein, async (store) => {
    const printedIds = printed.flatMap((event) => (event.node === undefined ? [] : [event.node.id]));
    const stored = await Promise.all(printedIds.map((node) => store.node(node)));
    expect(stored.map((node) => node?.id)).toEqual(printedIds);
    if (printedIds.length > 0) {
      const path = printed.find((event) => event.session !== undefined)?.session?.transcript_path as string;
      const written = new Set((await readTranscript(path)).lines.map((line) => line.id));
      expect(printedIds.filter((node) => !written.has(node))).toEqual([]);
    }
    expect((await store.verify({})).problems).toEqual([]);
    const turns = (await store.session(id)) === null ? [] : await store.turnsOf(id);
    return turns.at(-1)?.status === null;
  });
}

/** Resumes without a task. Returns the first request that skein sent. */
async function resume(skein: TemporaryHome, server: ModelServer, id: string, task: string): Promise<RecordedRequest> {
  const before = server.requests.length;
  const ran = await skein.run(["run", "--resume", id, "--json"]);
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  expect(ran.json()).toMatchObject({ status: "ok", result: atOnce.final, session_id: id });
  return server.requests.slice(before).find((request) => request.number > 0 && request.text.includes(task)) as RecordedRequest;
}

/** Returns true if a call was running according to the printed events. */
function checkCallResults(request: RecordedRequest, printed: PrintedEvent[]): boolean {
  const { called, results } = callsIn(request);
  expect(called.filter((call) => !results.has(call))).toEqual([]);
  const answered = new Set(printed.flatMap((event) => event.node?.parts.map((part) => (part.kind === "result" ? part.call : "")) ?? []));
  const running = printed.flatMap((event) => (event.type === "tool.started" && !answered.has(event.call) ? [event.call as string] : []));
  for (const call of running) expect(results.get(call)).toMatch(/^line-\d+$|^Interrupted: .*state is unknown/);
  return running.length > 0;
}

test("a streaming answer is stored up to the last moments before the kill", async () => {
  const random = seeded(7);
  const words = Array.from({ length: 1200 }, (_, index) => `word${index}`).join(" ");
  let script: Script = { steps: [], final: words };
  const server = startModelServer(() => script, { chunkDelayMs: 8 });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    for (let round = 0; round < 4; round += 1) {
      script = { steps: [], final: words };
      const id = Bun.randomUUIDv7();
      const task = `tell a long story, round ${round}`;
      const run = readEvents(skein.start(["run", task, "-m", model, "--session-id", id, "--output-format", "events"]));
      const isDelta = ({ type }: PrintedEvent) => type === "text.delta";
      const startedAt = Date.parse((await run.until(isDelta))!.at);
      const until = startedAt + 300 + random() * 400;
      await run.until((event) => isDelta(event) && Date.parse(event.at) > until);
      run.child.kill("SIGKILL");
      await run.ended;
      // The stored draft may be 100 ms behind. The other 150 ms are for late timers on a busy machine.
      const lastAt = Date.parse(run.printed.findLast(isDelta)!.at);
      const early = run.printed.filter((event) => isDelta(event) && Date.parse(event.at) < lastAt - 250);
      const earlyText = early.map((event) => event.text).join("");
      expect(earlyText).not.toBe("");
      script = atOnce;
      const request = await resume(skein, server, id, task);
      const answers = await withStore(skein, async (store) =>
        (await store.sessionNodes(id)).filter((node) => node.author === "agent").map(textOf),
      );
      expect(answers).toEqual([expect.stringMatching(/^word0/), atOnce.final]);
      expect(answers[0]).toStartWith(earlyText);
      expect(words).toStartWith(answers[0] as string);
      expect(request.text).toContain(JSON.stringify(answers[0]).slice(1, -1));
      expect(request.text).toContain("skein was killed while you were answering");
    }
    await checkVerified(skein);
  } finally {
    await server.stop();
  }
});

test("a kill during compaction loses nothing, and the resumed turn compacts again", async () => {
  let isKilled = false;
  const bulk = shellScript(
    Array.from({ length: 8 }, (_, index) => `echo bulk-${index}; head -c 6000 /dev/zero | tr '\\0' x`),
    "all the bulk is seen",
  );
  const summary = (): Script => ({ steps: [{ text: "it was bulk", delayMs: isKilled ? 0 : 60_000 }], final: "" });
  const server = startModelServer(({ position }) => (position.prompt.startsWith("Stop working") ? summary() : isKilled ? atOnce : bulk));
  using skein = temporaryHome(vendorEnv(server.url));
  mkdirSync(join(skein.root, "skein", "config"), { recursive: true });
  writeFileSync(
    join(skein.root, "skein", "config", "config.jsonc"),
    JSON.stringify({ providers: { anthropic: { context_window: 9000 } } }),
  );
  try {
    const run = readEvents(skein.start(["run", "see the bulk", "-m", model, "--session", "bulk", "--output-format", "events"]));
    expect(await run.until((event) => event.type === "warning.raised")).not.toBeNull();
    run.child.kill("SIGKILL");
    await run.ended;
    isKilled = true;
    const ran = await skein.run(["run", "--resume", "bulk", "--json"]);
    expect({ err: ran.code === 0 ? "" : ran.err, ...ran.json() }).toMatchObject({ err: "", status: "ok", result: atOnce.final, steps: 2 });
    const notes = await withStore(skein, async (store) =>
      (await store.sessionNodes(String(ran.json()["session_id"]))).filter((node) => node.note?.about === "compaction"),
    );
    expect(notes.map(textOf)).toEqual(["[Earlier work, summarised]\nit was bulk"]);
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    await checkVerified(skein);
  } finally {
    await server.stop();
  }
});

test("the call of a killed executor ends with an error, and the run continues with a new executor", async () => {
  const server = startModelServer(shellScript(["echo before; setsid sleep 60 & sleep 60", "echo after"], "went on"));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const run = readEvents(skein.start(["run", "outlive the executor", "-m", model, "--output-format", "events"]));
    await run.until((event) => event.type === "tool.output");
    // The last one is the executor itself. With a pid namespace, the process that holds the namespace comes first.
    const executor = processesOf(skein.root).findLast(({ command }) => command.includes("__executor"));
    process.kill(executor?.pid as number, "SIGKILL");
    const { code, err } = await run.ended;
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    const results = run.printed.flatMap((event) => event.node?.parts.filter((part) => part.kind === "result") ?? []);
    expect(results).toMatchObject([
      { is_error: true, text: expect.stringMatching(/^the executor (was killed by SIGKILL|ended with exit code \d+) while this call ran/) },
      { is_error: false, text: "after" },
    ]);
    expect(run.printed.at(-1)).toMatchObject({ type: "result", status: "ok", result: "went on" });
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    await checkVerified(skein);
  } finally {
    await server.stop();
  }
});

type Message = {
  role: string;
  content: string | { type: string; id?: string; tool_use_id?: string; content?: string | { text?: string }[] }[];
};

function callsIn(request: RecordedRequest): { called: string[]; results: Map<string, string> } {
  const messages = (JSON.parse(request.text) as { messages: Message[] }).messages;
  const blocks = messages.flatMap((message) => (typeof message.content === "string" ? [] : message.content));
  const called = blocks.flatMap((block) => (block.type === "tool_use" ? [block.id as string] : []));
  const textIn = (content: (typeof blocks)[number]["content"]) =>
    typeof content === "string" ? content : (content ?? []).map((piece) => piece.text ?? "").join("");
  const results = new Map(
    blocks.flatMap((block) => (block.type === "tool_result" ? [[block.tool_use_id as string, textIn(block.content)] as const] : [])),
  );
  return { called, results };
}

async function checkVerified(skein: TemporaryHome): Promise<void> {
  const verified = await skein.run(["verify", "--json"]);
  expect({ code: verified.code, ...verified.json() }).toMatchObject({ code: 0, ok: true, problems: [] });
}

async function withStore<T>(skein: TemporaryHome, read: (store: Store) => Promise<T>): Promise<T> {
  const data = join(skein.root, "skein", "data");
  const store = await openStore({ path: join(data, "skein.db"), outputsDir: join(data, "outputs") });
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}

/** Returns numbers in [0, 1) that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
