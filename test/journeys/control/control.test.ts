// Running turns as other terminals see them: listed, watched from any moment on, sent messages, detached and stopped.
import { describe, expect, test } from "bun:test";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript, type Script } from "../../../src/scripted-model/script.ts";
import { connectApi } from "../../../src/hub/api-client.ts";
import { eventRecord } from "../../../src/protocol/json/records.ts";
import { detachedTurn, event as eventSchema, killReport, turnInfo } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { readEvents, type PrintedEvent } from "../../support/read-events.ts";
import { longRunModel, startLongRun } from "../../support/long-run.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";
import { startInPty } from "../../support/pty.ts";

const model = ["-m", wireModels.anthropic];
const events = ["--output-format", "events"];

/** A command that waits until the test has created this file. */
const waitFor = (name: string) => `echo begun; until [ -e ${name} ]; do sleep 0.02; done`;
const createFile = (skein: TemporaryHome, name: string) => writeFileSync(join(skein.project, name), "");

type JourneyContext = { skein: TemporaryHome; requests: () => string[] };

async function runJourney(script: Script, check: (ctx: JourneyContext) => Promise<void>): Promise<void> {
  // The server counts requests. If it read its position from the conversation, a message in between would restart it.
  const server = startModelServer(script, { count: "requests" });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await check({ skein, requests: () => server.main().map((request) => request.text) });
  } finally {
    await server.stop();
  }
}

const isToolOutput = (event: PrintedEvent) => event.type === "tool.output";
const isDurable = (printed: PrintedEvent) => !("n" in printed);

test("a running turn can be listed, watched and stopped from another terminal, and none of its processes remain", async () => {
  await runJourney(shellScript(["echo begun; setsid sleep 86395 & sleep 86395"]), async ({ skein }) => {
    const run = readEvents(skein.start(["run", "wait long", "--session", "long", ...model, ...events]));
    await run.until(isToolOutput);
    const turns = (await skein.run(["ps", "--json"])).json() as unknown as unknown[];
    expect(turns.map((turn) => turnInfo.parse(turn))).toMatchObject([{ state: "running", pid: run.child.pid, session: { name: "long" } }]);
    expect((await skein.run(["ps"])).out).toMatch(/^[0-9a-f]{8} +long +running /m);
    expect((await skein.run(["logs", "long"])).out).toMatch(/^native · .*\n> wait long\n• bash echo begun; setsid sleep 86395/);

    const watching = readEvents(skein.start(["attach", "long", "--json"]));
    await watching.until((event) => event.type === "node.added" && event.node?.author === "agent");
    expect(killReport.parse((await skein.run(["kill", "long", "--json"])).json())).toMatchObject({
      outcome: "stopped",
      status: "cancelled",
    });
    expect((await watching.ended).code).toBe(130);
    await run.ended;
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    expect((await skein.run(["ps"])).out).toBe("nothing is running (--all lists ended turns)\n");
    expect((await skein.run(["ps", "--all"])).out).toMatch(/long +cancelled /);
    expect(watching.printed.filter(isDurable)).toEqual(run.printed.filter((printed) => isDurable(printed) && printed.type !== "result"));
  });
});

test("the command of a paused turn that is killed writes nothing more", async () => {
  await runJourney(shellScript(["echo begun; while :; do date >> ticks; sleep 0.01; done"]), async ({ skein }) => {
    const run = readEvents(skein.start(["run", "write", "--session", "writer", ...model, ...events]));
    await run.until(isToolOutput);
    expect((await skein.run(["pause", "writer"])).code).toBe(0);
    const size = statSync(join(skein.project, "ticks")).size;
    expect((await skein.run(["kill", "writer"])).code).toBe(0);
    await run.ended;
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    expect(statSync(join(skein.project, "ticks")).size).toBe(size);
  });
});

test("kill --force sends SIGKILL to the process of the turn, and attached terminals end with exit code 1", async () => {
  await runJourney(shellScript(["echo begun; setsid sleep 86394 & sleep 86394"]), async ({ skein }) => {
    const run = readEvents(skein.start(["run", "wait long", "--session", "long", ...model, ...events]));
    await run.until(isToolOutput);
    const watching = skein.start(["attach", "long"]);
    await watching.stdout.getReader().read();
    const report = killReport.parse((await skein.run(["kill", "long", "--force", "--json"])).json());
    expect(report).toMatchObject({ outcome: "killed", pid: run.child.pid, status: "killed" });
    await run.ended;
    expect(run.child.signalCode).toBe("SIGKILL");
    expect(await watching.exited).toBe(1);
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  });
});

describe("watching from any moment on", () => {
  test("watchers that join a run of 10,000 events at random moments see the same events as an early one", async () => {
    const server = startLongRun({ steps: 80, calls: 40 });
    using skein = temporaryHome(vendorEnv(server.url));
    writeFileSync(join(skein.project, "note.txt"), "a note\n");
    try {
      const run = readEvents(skein.start(["run", "go", "--session", "long", "-m", longRunModel, ...events]));
      await run.until((event) => event.type === "turn.started");
      const watchers = [readEvents(skein.start(["attach", "long", "--json"]))];
      for (const args of [["attach"], ["logs", "-f", "--limit", "1000000"], ["attach"]]) {
        const joinAfter = run.printed.length + Math.random() * 2_000;
        await run.until(() => run.printed.length >= joinAfter);
        watchers.push(readEvents(skein.start([args[0] as string, "long", "--json", ...args.slice(1)])));
      }
      expect((await run.ended).code).toBe(0);
      expect(run.printed.length).toBeGreaterThan(10_000);
      const durable = run.printed.filter((printed) => isDurable(printed) && printed.type !== "result");
      const transient = run.printed.filter((printed) => !isDurable(printed)).map((printed) => JSON.stringify(printed));
      for (const watcher of watchers) {
        expect(await watcher.ended).toEqual({ code: 0, err: "" });
        expect(watcher.printed.filter(isDurable)).toEqual(durable);
        const transientOfWatcher = watcher.printed.filter((printed) => !isDurable(printed) && printed.type !== "draft.shown");
        expect(
          inOrder(
            transientOfWatcher.map((printed) => JSON.stringify(printed)),
            transient,
          ),
        ).toBe(true);
      }
    } finally {
      await server.stop();
    }
  }, 300_000);

  test("a watcher that reconnects again and again continues by seq, without loss and without repetition", async () => {
    const enough = Promise.withResolvers<void>();
    const server = startLongRun({ steps: 40, calls: 10, beforeStep: (step) => (step < 30 ? undefined : enough.promise) });
    using skein = temporaryHome(vendorEnv(server.url));
    writeFileSync(join(skein.project, "note.txt"), "a note\n");
    try {
      const run = readEvents(skein.start(["run", "go", "--session", "long", "-m", longRunModel, ...events]));
      const firstCall = await run.until((event) => event.type === "tool.started");
      const session = firstCall?.session_id ?? "";
      const folder = join(skein.env["SKEIN_HOME"] as string, "state", "run");
      const socket = join(folder, readdirSync(folder).find((name) => name.endsWith(".sock")) ?? "");
      const received: unknown[] = [];
      let connections = 0;
      while (connections < 5) {
        const api = await connectApi({ socket }, { client: "journey" });
        connections += 1;
        let remaining = 10 + Math.floor(Math.random() * 40);
        for await (const event of api.turn.watch({ session, afterSeq: received.length, until: "idle" })) {
          if ("n" in event) continue;
          received.push(eventRecord(event));
          if (--remaining === 0) break;
        }
        await api.close();
      }
      enough.resolve();
      await run.ended;
      const durable = run.printed.filter((printed) => isDurable(printed) && printed.type !== "result");
      expect(received.length).toBeGreaterThanOrEqual(50);
      expect(JSON.parse(JSON.stringify(received))).toEqual(durable.slice(0, received.length));
    } finally {
      await server.stop();
    }
  }, 300_000);

  test("a watcher that joins in mid-answer gets the text so far, then every further piece", async () => {
    const restOfAnswer = Promise.withResolvers<void>();
    const encoder = new TextEncoder();
    const piece = (delta: object, finish: string | null) =>
      encoder.encode(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    const body = () =>
      new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(piece({ content: "What was said before, " }, null));
          await restOfAnswer.promise;
          for (const word of ["and ", "what ", "was ", "said ", "then."]) {
            controller.enqueue(piece({ content: word }, null));
            await Bun.sleep(20);
          }
          controller.enqueue(piece({}, "stop"));
          controller.close();
        },
      });
    const route = (_request: Request, path: string) => (path.endsWith("/chat/completions") ? Promise.resolve(new Response(body())) : null);
    const server = startModelServer({ steps: [], final: "" }, { route });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      const run = readEvents(skein.start(["run", "talk", "--session", "talk", "-m", longRunModel, ...events]));
      await run.until((event) => event.type === "text.delta");
      const watchers = [0, 1].map(() => readEvents(skein.start(["attach", "talk", "--json"])));
      await Promise.all(watchers.map((watcher) => watcher.until((event) => event.type === "draft.shown")));
      restOfAnswer.resolve();
      await run.ended;
      const words = (printed: PrintedEvent[]) =>
        printed.flatMap(({ type, text = "" }) => (/^(text\.delta|draft\.shown)$/.test(type) ? [text] : []));
      for (const watcher of watchers) {
        await watcher.ended;
        expect(words(watcher.printed)).toEqual(words(run.printed));
        expect(watcher.printed.filter(isDurable)).toEqual(run.printed.filter((each) => isDurable(each) && each.type !== "result"));
        for (const printed of watcher.printed) eventSchema.parse(printed);
      }
    } finally {
      await server.stop();
    }
  });

  test("attach and logs of an idle session show its history, and attach says that nothing is running", async () => {
    await runJourney(shellScript(["echo one"], "All done."), async ({ skein }) => {
      await skein.run(["run", "first thing", "--session", "calm", ...model]);
      await skein.run(["add", "calm", "a message that nobody takes up"]);
      const attached = await skein.run(["attach", "calm"]);
      expect(attached).toMatchObject({
        code: 0,
        err: 'nothing is running in calm; continue it with: skein run --session calm "message"\n',
      });
      expect(attached.out).toMatch(
        /> first thing\n• bash echo one\n {2}one.*\nAll done\.\nok · 2 steps.*\n> a message that nobody takes up\n$/,
      );
      const logged = await skein.run(["logs", "calm", "-f", "--json"]);
      for (const line of logged.lines()) eventSchema.parse(line);
      expect((await skein.run(["logs", "calm", "--limit", "1"])).out).toBe("> a message that nobody takes up\n");
    });
  });
});

/** Returns whether all of `some` occur in `all`, in the same order. */
function inOrder(some: string[], all: string[]): boolean {
  let matched = 0;
  for (const each of all) if (matched < some.length && each === some[matched]) matched += 1;
  return matched === some.length;
}

describe("in a terminal", () => {
  test("a line typed in attach reaches the agent at its next step, every terminal shows it, and Ctrl-C leaves the turn running", async () => {
    await runJourney(shellScript([waitFor("go-on"), waitFor("end")], "As you wish."), async ({ skein, requests }) => {
      const run = readEvents(skein.start(["run", "work", "--session", "work", ...model, ...events]));
      await run.until(isToolOutput);
      await using first = startInPty(skein, ["attach", "work"]);
      await using second = startInPty(skein, ["attach", "work"]);
      await Promise.all([first.until("• bash echo begun; until [ -e go-on ]"), second.until("• bash echo begun; until [ -e go-on ]")]);
      first.type("please be quick\r");
      await Promise.all([first, second].map((each) => each.until("waits for the agent's next step: please be quick")));
      createFile(skein, "go-on");
      await Promise.all([first, second].map((each) => each.until("given to the agent: please be quick")));
      // The message is stored and shown before the request that contains it is sent.
      while (!requests().at(-1)!.includes("please be quick")) await Bun.sleep(20);
      second.type("\x03");
      await second.until(/left work; its turn continues[^]*skein attach work/);
      expect(await second.exited).toBe(0);
      createFile(skein, "end");
      expect(await first.until(/As you wish\.\nok · 3 steps/)).toContain("> please be quick");
      expect(await first.exited).toBe(0);
      expect((await run.ended).code).toBe(0);
    });
  });

  test("/pause, /resume and /cancel control the turn in attach, and a mistyped command is corrected", async () => {
    await runJourney(shellScript([waitFor("never")], "not reached"), async ({ skein }) => {
      const run = readEvents(skein.start(["run", "work", "--session", "work", ...model, ...events]));
      await run.until(isToolOutput);
      await using attached = startInPty(skein, ["attach", "work"]);
      await attached.until("• bash echo begun");
      attached.type("/puase\r");
      await attached.until("did you mean /pause?");
      attached.type("/pause\r");
      await attached.until("paused · skein resume");
      expect((await skein.run(["ps"])).out).toMatch(/work +paused /);
      attached.type("/resume\r");
      await attached.until("resumed");
      attached.type("/cancel\r");
      await attached.until(/cancelled · 1 step/);
      expect(await attached.exited).toBe(130);
      expect(run.printed.length).toBeGreaterThan(0);
      await run.ended;
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
    });
  });
});

describe("run --detach", () => {
  /** Stops the hub at the end, because it would continue its turns. */
  async function runJourneyWithHub(script: Script, check: (ctx: JourneyContext) => Promise<void>): Promise<void> {
    await runJourney(script, async (ctx) => {
      try {
        await check(ctx);
      } finally {
        await ctx.skein.run(["hub", "stop"]);
      }
      expect(await waitForNoProcesses(ctx.skein.root)).toEqual([]);
    });
  }

  test("a detached turn runs in the hub from the start, and can be listed, followed and attached to", async () => {
    await runJourneyWithHub(shellScript([waitFor("end")], "Done without you."), async ({ skein }) => {
      const ran = await skein.run(["run", "work", "--detach", "--session", "work", ...model, "--json"]);
      expect(ran).toMatchObject({ code: 0, err: "" });
      const detached = detachedTurn.parse(ran.json());
      const turns = (await skein.run(["ps", "--json"])).json() as unknown as unknown[];
      expect(turns.map((turn) => turnInfo.parse(turn))).toMatchObject([
        { state: "running", pid: detached.hub.pid, session: { id: detached.session_id }, turn: { id: detached.turn_id } },
      ]);
      const logs = readEvents(skein.start(["logs", "work", "-f", "--json"]));
      await logs.until((event) => event.type === "node.added" && event.node?.author === "agent");
      const attached = skein.start(["attach", "work"]);
      createFile(skein, "end");
      expect((await logs.ended).code).toBe(0);
      expect(await attached.exited).toBe(0);
      expect(await new Response(attached.stdout).text()).toMatch(/> work\n• bash[^]*Done without you\.\nok · 2 steps/);
      expect(logs.printed.at(-1)).toMatchObject({ type: "turn.ended" });
    });
  });

  test("run --detach prints only the session id, and reports a wrong model before it starts a hub", async () => {
    await runJourneyWithHub(shellScript([waitFor("never")]), async ({ skein }) => {
      const wrong = await skein.run(["run", "work", "--detach", "-m", "acme/one"]);
      expect(wrong).toMatchObject({ code: 3, out: "" });
      expect((await skein.run(["hub", "status"])).out).toContain("no hub is running");
      const ran = await skein.run(["run", "work", "--detach", ...model]);
      expect(ran.err).toMatch(/^runs in the hub \(process \d+\)\n {2}skein attach [0-9a-f]{8} /);
      const session = ran.out.trim();
      expect(killReport.parse((await skein.run(["kill", session, "--json"])).json())).toMatchObject({ outcome: "stopped", session });
      expect((await skein.run(["hub", "status"])).code).toBe(0);
    });
  });

  test("a detached turn's question waits until a terminal attaches, and the next line is the answer", async () => {
    const ask = { name: "ask_user", input: { question: "Which one?", options: ["this", "that"] } };
    await runJourneyWithHub({ steps: [{ calls: [ask] }], final: "As you say." }, async ({ skein, requests }) => {
      await skein.run(["run", "choose", "--detach", "--session", "choose", ...model]);
      await using attached = startInPty(skein, ["attach", "choose"]);
      await attached.until("the next line is the answer");
      expect((await skein.run(["ps"])).out).toMatch(/choose +asking /);
      attached.type("2\r");
      expect(await attached.until(/As you say\.\nok · 2 steps/)).toContain("answered: that");
      expect(await attached.exited).toBe(0);
      expect(requests().at(-1)).toContain("that");
    });
  });
});
