// Everything that runs, seen from other terminals: listed, watched from any moment on, talked to, left and stopped.
import { describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
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

/** A command that waits until the walk has made this file. */
const waitFor = (name: string) => `echo begun; until [ -e ${name} ]; do sleep 0.02; done`;
const letGo = (skein: TemporaryHome, name: string) => writeFileSync(join(skein.project, name), "");

type Walk = { skein: TemporaryHome; requests: () => string[] };

async function walk(script: Script, check: (walk: Walk) => Promise<void>): Promise<void> {
  // A message in between begins the script anew for one that reads its place from the conversation.
  const server = startModelServer(script, { count: "requests" });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await check({ skein, requests: () => server.main().map((request) => request.text) });
  } finally {
    await server.stop();
  }
}

const begun = (event: PrintedEvent) => event.type === "tool.output";
const isLasting = (printed: PrintedEvent) => !("n" in printed);

test("what runs is listed, shown and stopped from another terminal, and nothing of it is left", async () => {
  await walk(shellScript(["echo begun; setsid sleep 86395 & sleep 86395"]), async ({ skein }) => {
    const run = readEvents(skein.start(["run", "wait long", "--session", "long", ...model, ...events]));
    await run.until(begun);
    const rows = (await skein.run(["ps", "--json"])).json() as unknown as unknown[];
    expect(rows.map((row) => turnInfo.parse(row))).toMatchObject([{ state: "running", pid: run.child.pid, session: { name: "long" } }]);
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
    expect(watching.printed.filter(isLasting)).toEqual(run.printed.filter((printed) => isLasting(printed) && printed.type !== "result"));
  });
});

test("by force the process that runs it is killed without being asked, and whoever watches is told", async () => {
  await walk(shellScript(["echo begun; setsid sleep 86394 & sleep 86394"]), async ({ skein }) => {
    const run = readEvents(skein.start(["run", "wait long", "--session", "long", ...model, ...events]));
    await run.until(begun);
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

describe("from any moment on", () => {
  test("watchers that come at random moments of a run of 10,000 events see what an early one saw", async () => {
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
      const told = run.printed.filter((printed) => isLasting(printed) && printed.type !== "result");
      const passed = run.printed.filter((printed) => !isLasting(printed)).map((printed) => JSON.stringify(printed));
      for (const watcher of watchers) {
        expect(await watcher.ended).toEqual({ code: 0, err: "" });
        expect(watcher.printed.filter(isLasting)).toEqual(told);
        const late = watcher.printed.filter((printed) => !isLasting(printed) && printed.type !== "draft.shown");
        expect(
          inOrder(
            late.map((printed) => JSON.stringify(printed)),
            passed,
          ),
        ).toBe(true);
      }
    } finally {
      await server.stop();
    }
  }, 300_000);

  test("a connection that is dropped again and again goes on by seq, without loss and without repeating", async () => {
    const enough = Promise.withResolvers<void>();
    const server = startLongRun({ steps: 40, calls: 10, beforeStep: (step) => (step < 30 ? undefined : enough.promise) });
    using skein = temporaryHome(vendorEnv(server.url));
    writeFileSync(join(skein.project, "note.txt"), "a note\n");
    try {
      const run = readEvents(skein.start(["run", "go", "--session", "long", "-m", longRunModel, ...events]));
      const begun = await run.until((event) => event.type === "tool.started");
      const session = begun?.session_id ?? "";
      const folder = join(skein.env["SKEIN_HOME"] as string, "state", "run");
      const socket = join(folder, readdirSync(folder).find((name) => name.endsWith(".sock")) ?? "");
      const seen: unknown[] = [];
      let connections = 0;
      while (connections < 5) {
        const api = await connectApi({ socket }, { client: "walk" });
        connections += 1;
        let left = 10 + Math.floor(Math.random() * 40);
        for await (const event of api.turn.watch({ session, afterSeq: seen.length, until: "idle" })) {
          if ("n" in event) continue;
          seen.push(eventRecord(event));
          if (--left === 0) break;
        }
        await api.close();
      }
      enough.resolve();
      await run.ended;
      const told = run.printed.filter((printed) => isLasting(printed) && printed.type !== "result");
      expect(seen.length).toBeGreaterThanOrEqual(50);
      expect(JSON.parse(JSON.stringify(seen))).toEqual(told.slice(0, seen.length));
    } finally {
      await server.stop();
    }
  }, 300_000);

  test("one that comes in the middle is told what streams so far, then every piece of it", async () => {
    const rest = Promise.withResolvers<void>();
    const encoder = new TextEncoder();
    const piece = (delta: object, finish: string | null) =>
      encoder.encode(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    const body = () =>
      new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(piece({ content: "What was said before, " }, null));
          await rest.promise;
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
      const late = [0, 1].map(() => readEvents(skein.start(["attach", "talk", "--json"])));
      await Promise.all(late.map((watcher) => watcher.until((event) => event.type === "draft.shown")));
      rest.resolve();
      await run.ended;
      const words = (printed: PrintedEvent[]) =>
        printed.flatMap(({ type, text = "" }) => (/^(text\.delta|draft\.shown)$/.test(type) ? [text] : []));
      for (const watcher of late) {
        await watcher.ended;
        expect(words(watcher.printed)).toEqual(words(run.printed));
        expect(watcher.printed.filter(isLasting)).toEqual(run.printed.filter((each) => isLasting(each) && each.type !== "result"));
        for (const printed of watcher.printed) eventSchema.parse(printed);
      }
    } finally {
      await server.stop();
    }
  });

  test("a session that rests shows its history and says so", async () => {
    await walk(shellScript(["echo one"], "All done."), async ({ skein }) => {
      await skein.run(["run", "first thing", "--session", "calm", ...model]);
      await skein.run(["add", "calm", "a message that nobody takes up"]);
      const attached = await skein.run(["attach", "calm"]);
      expect(attached).toMatchObject({ code: 0, err: 'nothing is running in calm; continue it with: skein run --resume calm "message"\n' });
      expect(attached.out).toMatch(
        /> first thing\n• bash echo one\n {2}one.*\nAll done\.\nok · 2 steps.*\n> a message that nobody takes up\n$/,
      );
      const logged = await skein.run(["logs", "calm", "-f", "--json"]);
      for (const line of logged.lines()) eventSchema.parse(line);
      expect((await skein.run(["logs", "calm", "--limit", "1"])).out).toBe("> a message that nobody takes up\n");
    });
  });
});

/** Whether all of `some` occur in `all`, in the same order. */
function inOrder(some: string[], all: string[]): boolean {
  let at = 0;
  for (const each of all) if (at < some.length && each === some[at]) at += 1;
  return at === some.length;
}

describe("in a terminal", () => {
  test("a line reaches the agent at its next step, everyone sees it, and Ctrl-C leaves the turn running", async () => {
    await walk(shellScript([waitFor("go-on"), waitFor("end")], "As you wish."), async ({ skein, requests }) => {
      const run = readEvents(skein.start(["run", "work", "--session", "work", ...model, ...events]));
      await run.until(begun);
      await using one = startInPty(skein, ["attach", "work"]);
      await using other = startInPty(skein, ["attach", "work"]);
      await Promise.all([one.until("• bash echo begun; until [ -e go-on ]"), other.until("• bash echo begun; until [ -e go-on ]")]);
      one.type("please be quick\r");
      await Promise.all([one, other].map((each) => each.until("waits for the agent's next step: please be quick")));
      letGo(skein, "go-on");
      await Promise.all([one, other].map((each) => each.until("given to the agent: please be quick")));
      expect(requests().at(-1)).toContain("please be quick");
      other.type("\x03");
      await other.until(/left work; its turn continues[^]*skein attach work/);
      expect(await other.exited).toBe(0);
      letGo(skein, "end");
      expect(await one.until(/As you wish\.\nok · 3 steps/)).toContain("> please be quick");
      expect(await one.exited).toBe(0);
      expect((await run.ended).code).toBe(0);
    });
  });

  test("a turn is paused, let go on and stopped by typing, and a wrong command says so", async () => {
    await walk(shellScript([waitFor("never")], "not reached"), async ({ skein }) => {
      const run = readEvents(skein.start(["run", "work", "--session", "work", ...model, ...events]));
      await run.until(begun);
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
  /** What was left to a hub is gone on with until it is stopped. */
  async function walkWithHub(script: Script, check: (walk: Walk) => Promise<void>): Promise<void> {
    await walk(script, async (walked) => {
      try {
        await check(walked);
      } finally {
        await walked.skein.run(["hub", "stop"]);
      }
      expect(await waitForNoProcesses(walked.skein.root)).toEqual([]);
    });
  }

  test("the turn is the hub's from its first moment, and is followed, asked for and attached to from elsewhere", async () => {
    await walkWithHub(shellScript([waitFor("end")], "Done without you."), async ({ skein }) => {
      const ran = await skein.run(["run", "work", "--detach", "--session", "work", ...model, "--json"]);
      expect(ran).toMatchObject({ code: 0, err: "" });
      const left = detachedTurn.parse(ran.json());
      const rows = (await skein.run(["ps", "--json"])).json() as unknown as unknown[];
      expect(rows.map((row) => turnInfo.parse(row))).toMatchObject([
        { state: "running", pid: left.hub.pid, session: { id: left.session_id }, turn: { id: left.turn_id } },
      ]);
      const logs = readEvents(skein.start(["logs", "work", "-f", "--json"]));
      await logs.until((event) => event.type === "node.added" && event.node?.author === "agent");
      const attached = skein.start(["attach", "work"]);
      letGo(skein, "end");
      expect((await logs.ended).code).toBe(0);
      expect(await attached.exited).toBe(0);
      expect(await new Response(attached.stdout).text()).toMatch(/> work\n• bash[^]*Done without you\.\nok · 2 steps/);
      expect(logs.printed.at(-1)).toMatchObject({ type: "turn.ended" });
    });
  });

  test("without --json stdout is the session alone; what is wrong is told before a hub is started", async () => {
    await walkWithHub(shellScript([waitFor("never")]), async ({ skein }) => {
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

  test("a question waits for whoever attaches, and the next line is its answer", async () => {
    const ask = { name: "ask_user", input: { question: "Which one?", options: ["this", "that"] } };
    await walkWithHub({ steps: [{ calls: [ask] }], final: "As you say." }, async ({ skein, requests }) => {
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
