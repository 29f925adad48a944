// Turns that are queued on a busy session: their places, their order over a killed hub, and their withdrawal. Turns of a killed
// hub: the next hub continues them once, unless that is turned off.
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pollUntil } from "../../../src/kit/flow/sleep.ts";
import { hubStopped, killReport, queuedTurn, turnInfo } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { Script } from "../../../src/scripted-model/script.ts";
import { hubFile, killHub } from "../../support/hub-client.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { readEvents } from "../../support/read-events.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
const waitLimitMs = 60_000;
/** A command that waits until the test has created this file. */
const waitFor = (name: string) => ({ calls: [{ input: { command: `echo begun; until [ -e ${name} ]; do sleep 0.02; done` } }] });
const createFile = (skein: TemporaryHome, name: string) => writeFileSync(join(skein.project, name), "");

async function runJourney(script: Script, check: (skein: TemporaryHome) => Promise<void>): Promise<void> {
  const server = startModelServer(script, { count: "requests" });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await check(skein);
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
    await server.stop();
  }
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
}

async function listTurns(skein: TemporaryHome, ...flags: string[]) {
  const turns = (await skein.run(["ps", "--json", ...flags])).json() as unknown as unknown[];
  return turns.map((turn) => turnInfo.parse(turn));
}

const hubLog = (skein: TemporaryHome) => readFileSync(join(hubFile(skein), "..", "hub.log"), "utf8");

async function waitForIdle(skein: TemporaryHome): Promise<void> {
  expect(await pollUntil(waitLimitMs, async () => ((await listTurns(skein)).length === 0 ? true : null))).toBe(true);
}

const queue = (skein: TemporaryHome, prompt: string) => skein.run(["run", "--session", "busy", prompt, "--queue", "--json", ...model]);

/** The messages of the session in order. */
async function prompts(skein: TemporaryHome): Promise<string[]> {
  const { out } = await skein.run(["show", "busy", "--json"]);
  const { nodes } = JSON.parse(out) as { nodes: { author: string; parts: { text?: string }[] }[] };
  return nodes.filter(({ author }) => author === "user").map(({ parts }) => parts[0]!.text!);
}

test("five turns that two processes queue on a busy session run once each, in order, over a kill -9 of the hub", async () => {
  const done = (text: string) => ({ text });
  const steps = [waitFor("first"), done("zero"), done("one"), done("two"), waitFor("never")];
  await runJourney({ steps, final: "done" }, async (skein) => {
    const run = readEvents(skein.start(["run", "zero", "--session", "busy", ...model, "--output-format", "events"]));
    await run.until((event) => event.type === "tool.output");
    const refused = await skein.run(["run", "--session", "busy", "now", ...model]);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("--queue") });

    for (const [index, prompt] of ["one", "two", "three", "four", "five"].entries())
      expect(queuedTurn.parse((await queue(skein, prompt)).json())).toMatchObject({ place: index + 1 });
    expect((await listTurns(skein)).map(({ state, pending, prompt }) => [state, pending?.place, prompt])).toEqual([
      ["running", undefined, "zero"],
      ["queued", 1, "one"],
      ["queued", 2, "two"],
      ["queued", 3, "three"],
      ["queued", 4, "four"],
      ["queued", 5, "five"],
    ]);

    createFile(skein, "first");
    await run.ended;
    const isThirdRunning = async () =>
      (await listTurns(skein)).some(({ state, prompt, turn }) => state === "running" && prompt === "three" && turn.steps > 0);
    expect(await pollUntil(waitLimitMs, async () => (await isThirdRunning()) || null)).toBe(true);
    await killHub(skein);
    expect((await skein.run(["hub", "start"])).code).toBe(0);
    await waitForIdle(skein);
    expect(await prompts(skein)).toEqual(["zero", "one", "two", "three", "four", "five"]);
    expect(hubLog(skein)).toContain("its interrupted turn continues");
  });
});

test("a queued turn can be withdrawn by its id, and the others keep their order", async () => {
  await runJourney({ steps: [waitFor("first")], final: "done" }, async (skein) => {
    const run = readEvents(skein.start(["run", "zero", "--session", "busy", ...model, "--output-format", "events"]));
    await run.until((event) => event.type === "tool.output");
    const first = queuedTurn.parse((await queue(skein, "one")).json());
    await queue(skein, "two");
    const tail = first.turn_id.slice(-8);
    expect((await skein.run(["ps"])).out).toContain(`queued 1, turn ${tail}`);
    expect(killReport.parse((await skein.run(["cancel", tail, "--json"])).json())).toMatchObject({
      outcome: "withdrawn",
      turn: first.turn_id,
      session: first.session_id,
    });
    expect((await skein.run(["kill", tail])).err).toContain("no session and no queued turn");
    expect((await skein.run(["ps"])).out).toContain("queued 1, turn ");
    createFile(skein, "first");
    await run.ended;
    await waitForIdle(skein);
    expect(await prompts(skein)).toEqual(["zero", "two"]);
  });
});

test("a turn that is queued on an idle session runs at once in the hub, and the text output names its place", async () => {
  await runJourney({ steps: [], final: "done" }, async (skein) => {
    const ran = await skein.run(["run", "--session", "busy", "alone", "--queue", ...model]);
    expect(ran.out).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(ran.err).toMatch(/^number 1 in the queue of session [0-9a-f]{8}, run by the hub \(process \d+\)\n/);
    const followed = await skein.run(["logs", "busy", "-f"]);
    expect(followed.out).toContain("> alone");
    expect(await prompts(skein)).toEqual(["alone"]);
  });
});

test("the next hub continues a detached turn once, and tells the model that its call was interrupted", async () => {
  const server = startModelServer({ steps: [waitFor("never")], final: "Went on." }, { count: "requests" });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await skein.run(["run", "work", "--detach", "--session", "busy", ...model]);
    expect(await pollUntil(waitLimitMs, async () => (server.main().length === 1 ? true : null))).toBe(true);
    expect(await pollUntil(waitLimitMs, async () => ((await listTurns(skein))[0]?.turn.steps === 1 ? true : null))).toBe(true);
    await killHub(skein);
    // Two processes start hubs at once: one of them runs, and the turn is continued once.
    await Promise.all([skein.run(["hub", "start"]), skein.run(["hub", "start"])]);
    await waitForIdle(skein);
    const turns = await listTurns(skein, "--all");
    expect(turns.map(({ turn }) => String(turn.status)).toSorted()).toEqual(["killed", "ok"]);
    expect(await prompts(skein)).toEqual(["work"]);
    expect(server.main()).toHaveLength(2);
    expect(server.main()[1]!.text).toContain("Interrupted: skein was killed while this call was running");
    await killHub(skein);
    await skein.run(["hub", "start"]);
    await waitForIdle(skein);
    expect(server.main()).toHaveLength(2);
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
    await server.stop();
  }
});

test("a turn with --no-auto-resume, and one that was killed by the user, are not continued by the next hub", async () => {
  await runJourney({ steps: [waitFor("never"), waitFor("never")], final: "done" }, async (skein) => {
    const start = async (session: string, ...flags: string[]) => {
      await skein.run(["run", "work", "--detach", "--session", session, ...model, ...flags]);
      const isRunning = async () => (await listTurns(skein)).some((info) => info.session.name === session && info.turn.steps > 0);
      expect(await pollUntil(waitLimitMs, async () => (await isRunning()) || null)).toBe(true);
    };
    await start("busy", "--no-auto-resume");
    await killHub(skein);
    expect((await skein.run(["hub", "start"])).code).toBe(0);
    await waitForIdle(skein);
    expect((await listTurns(skein, "--all")).map(({ turn }) => turn.status)).toEqual(["killed"]);
    await start("other");
    await killHub(skein);
    expect((await skein.run(["kill", "other"])).out).toContain("recorded as killed");
    expect((await skein.run(["hub", "start"])).code).toBe(0);
    await waitForIdle(skein);
    expect((await listTurns(skein, "--all")).map(({ turn }) => turn.status)).toEqual(["killed", "killed"]);
    expect(hubLog(skein)).not.toContain("continues");
  });
});

test("a detached turn survives hub stop and hub start: it continues once, and hub stop names it", async () => {
  const server = startModelServer({ steps: [waitFor("never"), waitFor("never")], final: "Went on." }, { count: "requests" });
  using skein = temporaryHome(vendorEnv(server.url));
  const startTurn = async (session: string, ...flags: string[]) => {
    await skein.run(["run", "work", "--detach", "--session", session, ...model, ...flags]);
    const isCalling = async () => (await listTurns(skein)).some((info) => info.session.name === session && info.turn.steps === 1);
    expect(await pollUntil(waitLimitMs, async () => (await isCalling()) || null)).toBe(true);
  };
  try {
    await startTurn("busy");
    await startTurn("old", "--no-auto-resume");
    const stopped = await skein.run(["hub", "stop", "--wait", "0"]);
    expect(stopped.out).toMatch(/^the hub is stopped\nthe next hub .* has:\n {2}[0-9a-f]{8} {2}continues its interrupted turn\n$/);
    expect((await skein.run(["ps"])).out).toContain("to be continued");
    for (const _ of [1, 2]) {
      await skein.run(["hub", "start"]);
      await waitForIdle(skein);
      expect(hubStopped.parse((await skein.run(["hub", "stop", "--json"])).json())).toMatchObject({ outcome: "stopped", pending: [] });
    }
    const turns = (await listTurns(skein, "--all")).map(({ session, turn }) => `${session.name} ${turn.status}`);
    expect(turns.toSorted()).toEqual(["busy killed", "busy ok", "old cancelled"]);
    expect(await prompts(skein)).toEqual(["work"]);
    expect(server.main()).toHaveLength(3);
    expect(hubLog(skein)).toContain("its interrupted turn continues");
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
    await server.stop();
  }
});

test("kill ends a turn for good that hub stop has left to the next hub", async () => {
  await runJourney({ steps: [waitFor("never")], final: "done" }, async (skein) => {
    await skein.run(["run", "work", "--detach", "--session", "busy", ...model]);
    expect(await pollUntil(waitLimitMs, async () => ((await listTurns(skein))[0]?.turn.steps === 1 ? true : null))).toBe(true);
    await skein.run(["hub", "stop", "--wait", "0"]);
    expect((await skein.run(["kill", "busy"])).out).toBe("stopped busy\n");
    await skein.run(["hub", "start"]);
    await waitForIdle(skein);
    expect((await listTurns(skein, "--all")).map(({ turn }) => turn.status)).toEqual(["killed"]);
  });
});
