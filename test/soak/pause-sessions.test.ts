// Pauses sub-sessions with their parent and alone, turns of a chat, of the hub and over MCP, and requests that wait or stream.
import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { type ModelServer, type ScriptSource, startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { pauseReport, turnInfo } from "../../src/protocol/fixtures/printed-schemas.ts";
import { readEvents } from "../support/read-events.ts";
import { mcpClient } from "../support/mcp-clients.ts";
import { waitForNoProcesses } from "../support/processes.ts";
import { type TemporaryHome, temporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";
import { quietestSecond, until } from "../support/cpu-time.ts";

const model = ["-m", wireModels.anthropic];
const events = ["--output-format", "events"];
const loop = (file: string) => `while [ ! -e end ]; do date +%s%N >> ${file}; sleep 0.02; done; echo whole`;
const sizeOf = (skein: TemporaryHome, name: string) => statSync(join(skein.project, name), { throwIfNoEntry: false })?.size ?? 0;
const reportOf = async (skein: TemporaryHome, ...args: string[]) => pauseReport.parse((await skein.run([...args, "--json"])).json());
const turnsOf = async (skein: TemporaryHome) => turnInfo.array().parse((await skein.run(["ps", "--json"])).json());

async function runWithModel(script: ScriptSource, check: (skein: TemporaryHome, server: ModelServer) => Promise<void>): Promise<void> {
  const server = startModelServer(script);
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await check(skein, server);
  } finally {
    await server.stop();
  }
}

/** The parent delegates two tasks at once. */
const family: ScriptSource = ({ position: { prompt } }) => {
  const calls = ["left", "right"].map((task) => ({ name: "spawn_session", input: { task } }));
  const tasks: Record<string, string> = { left: loop("left"), right: loop("right") };
  const command = tasks[prompt];
  return command === undefined ? { steps: [{ calls }], final: "both are back" } : shellScript([command], `${prompt} is done`);
};

test("sub-sessions are paused with their parent, and a sub-session paused alone stays paused when its parent is resumed", async () => {
  await runWithModel(family, async (skein, server) => {
    const run = readEvents(skein.start(["run", "delegate", "--session", "top", ...model, ...events]));
    const sizes = () => ["left", "right"].map((name) => sizeOf(skein, name));
    const hasGrown = (before: number[]) => sizes().map((size, index) => size > before[index]!);
    await until(() => sizes().every((size) => size > 0), "both write");
    expect(await reportOf(skein, "pause", "top")).toMatchObject({ state: "paused" });
    const [paused, requestCount] = [sizes(), server.requests.length];
    expect(await quietestSecond(run.child.pid)).toBeLessThanOrEqual(1);
    expect([sizes(), server.requests.length]).toEqual([paused, requestCount]);
    expect((await turnsOf(skein)).map(({ state }) => state)).toEqual(["paused", "paused", "paused"]);

    const left = (await turnsOf(skein)).find(({ session }) => session.task === "left")!.session.id;
    expect(await reportOf(skein, "pause", left)).toMatchObject({ state: "paused" });
    expect(await reportOf(skein, "resume", "top")).toMatchObject({ state: "running" });
    await until(() => hasGrown(paused)[1] === true, "the other sub-session continues");
    expect(hasGrown(paused)).toEqual([false, true]);
    expect(Object.fromEntries((await turnsOf(skein)).map(({ state, session }) => [session.task, state]))).toEqual({
      delegate: "running",
      left: "paused",
      right: "running",
    });
    expect(await reportOf(skein, "resume", left)).toMatchObject({ state: "running" });
    await until(() => hasGrown(paused)[0] === true, "it continues too");
    await Bun.write(join(skein.project, "end"), "");
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(run.printed.at(-1)).toMatchObject({ status: "ok", result: "both are back" });
  });
}, 300_000);

test("a sub-session stays paused until its parent is resumed, and --force is refused if other turns run in the process", async () => {
  await runWithModel(family, async (skein) => {
    const run = readEvents(skein.start(["run", "delegate", "--session", "top", ...model, ...events]));
    await until(() => sizeOf(skein, "left") > 0 && sizeOf(skein, "right") > 0, "both write");
    const left = (await turnsOf(skein)).find(({ session }) => session.task === "left")!.session.id;
    const refused = await skein.run(["pause", left, "--force"]);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toMatch(/process \d+ also runs .*, .*, which would be paused too/);
    await reportOf(skein, "pause", "top");
    expect(await reportOf(skein, "resume", left)).toMatchObject({ state: "paused" });
    const paused = sizeOf(skein, "left");
    await Bun.sleep(300);
    expect(sizeOf(skein, "left")).toBe(paused);
    expect(await skein.run(["kill", "top"])).toMatchObject({ code: 0 });
    await run.ended;
  });
}, 300_000);

test("the turn of a chat is paused and resumed, and the chat then ends normally", async () => {
  await runWithModel(shellScript([loop("written")], "went on"), async (skein) => {
    const chat = skein.start(["chat", "talk", ...model], { stdin: "loop\n" });
    await until(() => sizeOf(skein, "written") > 0, "the command runs");
    expect(await reportOf(skein, "pause", "talk")).toMatchObject({ state: "paused", pid: chat.pid });
    const before = sizeOf(skein, "written");
    expect(await quietestSecond(chat.pid)).toBeLessThanOrEqual(1);
    expect(sizeOf(skein, "written")).toBe(before);
    await reportOf(skein, "resume", "talk");
    await Bun.write(join(skein.project, "end"), "");
    expect(await new Response(chat.stdout).text()).toContain("went on");
    expect(await chat.exited).toBe(0);
  });
}, 300_000);

test("a request that waits for its retry is not sent while the turn is paused", async () => {
  await runWithModel({ steps: [], final: "at last" }, async (skein, server) => {
    server.setFault({ type: "status", status: 429, retryAfter: "2" });
    const run = readEvents(skein.start(["run", "ask", "--session", "again", ...model, ...events]));
    await run.until((event) => event.type === "model.retried");
    await reportOf(skein, "pause", "again");
    server.setFault(null);
    const requestCount = server.main().length;
    await Bun.sleep(3_500);
    expect(server.main().length).toBe(requestCount);
    await reportOf(skein, "resume", "again");
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(run.printed.at(-1)).toMatchObject({ status: "ok", result: "at last" });
  });
}, 300_000);

test("an answer whose connection is lost during a pause is continued after resume", async () => {
  const connectionLost = Promise.withResolvers<void>();
  const encoder = new TextEncoder();
  const piece = (content: string, finish: string | null) =>
    encoder.encode(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`);
  const bodies: string[] = [];
  const first = () =>
    new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(piece("It begins, ", null));
        await connectionLost.promise;
        controller.error(undefined);
      },
    });
  const second = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(piece("and it ends.", "stop"));
        controller.close();
      },
    });
  const route = async (request: Request, path: string) => {
    if (!path.endsWith("/chat/completions")) return null;
    bodies.push(await request.text());
    return new Response(bodies.length === 1 ? first() : second(), { headers: { "content-type": "text/event-stream" } });
  };
  const server = startModelServer({ steps: [], final: "" }, { route });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const run = readEvents(skein.start(["run", "talk", "--session", "talk", "-m", wireModels["openai-chat"], ...events]));
    await run.until((event) => event.type === "text.delta");
    await reportOf(skein, "pause", "talk");
    connectionLost.resolve();
    await Bun.sleep(500);
    expect(bodies.length).toBe(1);
    await reportOf(skein, "resume", "talk");
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(run.printed.at(-1)).toMatchObject({ status: "ok", result: "It begins, and it ends." });
    expect(bodies.length).toBe(2);
  } finally {
    await server.stop();
  }
}, 300_000);

test("a turn of the hub is paused and resumed while its other turns continue", async () => {
  const scripts: ScriptSource = ({ position: { prompt } }) => shellScript([loop(prompt)], `${prompt} went on`);
  await runWithModel(scripts, async (skein) => {
    try {
      for (const name of ["one", "two"])
        expect(await skein.run(["run", name, "--session", name, ...model, "--detach"])).toMatchObject({ code: 0 });
      const sizes = () => ["one", "two"].map((name) => sizeOf(skein, name));
      await until(() => sizes().every((size) => size > 0), "both write");
      expect(await reportOf(skein, "pause", "one")).toMatchObject({ state: "paused" });
      const before = sizes();
      await until(() => sizeOf(skein, "two") > before[1]!, "the other turn runs");
      await Bun.sleep(500);
      expect(sizeOf(skein, "one")).toBe(before[0]!);
      const refused = await skein.run(["pause", "two", "--force"]);
      expect(refused).toMatchObject({ code: 1, out: "" });
      expect(refused.err).toContain("which would be paused too");
      await Bun.write(join(skein.project, "end"), "");
      await until(async () => (await turnsOf(skein)).length === 1, "the other turn ends");
      expect(await reportOf(skein, "resume", "one")).toMatchObject({ state: "running" });
      await until(async () => (await turnsOf(skein)).length === 0, "the paused turn ends too");
      const last = (await skein.run(["show", "one", "--json"])).json() as { turns: { status: string }[] };
      expect(last.turns.map(({ status }) => status)).toEqual(["ok"]);
    } finally {
      await skein.run(["hub", "stop", "--wait", "0"]);
    }
  });
}, 300_000);

test("a turn started over MCP is paused, resumed and answered; a second one is killed and leaves no process", async () => {
  const scripts: ScriptSource = ({ position: { prompt } }) => shellScript([loop(prompt)], `${prompt} went on`);
  await runWithModel(scripts, async (skein, server) => {
    try {
      await using mcp = await mcpClient(skein);
      const work = (name: string) => mcp.call("work_with", { agent: "native", task: name, session_id: name });
      const [first, second] = [work("one"), work("two")];
      await until(() => sizeOf(skein, "one") > 0 && sizeOf(skein, "two") > 0, "both write");
      expect(await reportOf(skein, "pause", "one")).toMatchObject({ state: "paused" });
      const [before, requestCount] = [sizeOf(skein, "one"), server.requests.length];
      await Bun.sleep(500);
      expect([sizeOf(skein, "one"), server.requests.length]).toEqual([before, requestCount]);
      expect(await skein.run(["kill", "two"])).toMatchObject({ code: 0, out: "stopped two\n" });
      expect(await second).toMatchObject({ isError: true, output: { status: "cancelled" } });
      expect(await reportOf(skein, "resume", "one")).toMatchObject({ state: "running" });
      await Bun.write(join(skein.project, "end"), "");
      expect(await first).toMatchObject({ isError: false, text: expect.stringContaining("one went on") });
    } finally {
      await skein.run(["hub", "stop", "--wait", "0"]);
    }
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  });
}, 300_000);
