// Asking whoever runs a turn: one that is stopped, one that never answers, one that has just ended. Processes and leases
// are real.
import { expect, onTestFinished, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isStopped, processStartTime } from "../../kit/process/processes.ts";
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId, textOf } from "../../protocol/tree/node.ts";
import { beginTurn } from "../../store/fixtures/begin-turn.ts";
import { openStore } from "../../store/sqlite/sqlite-store.ts";
import type { EngineDeps } from "../engine.ts";
import { createTestEngine, node, ok, text, turn } from "../fixtures/engine-with.ts";
import { RunningTurns, type RunningTurn } from "../turn/running-turns.ts";
import { callOwner, withTimeout, connectToHolder } from "./owner.ts";

/** A session whose turn a sleeping process holds, as it is seen from here. */
async function heldElsewhere() {
  const child = Bun.spawn(["sleep", "600"]);
  onTestFinished(() => child.kill("SIGKILL"));
  const root = mkdtempSync(join(tmpdir(), "skein-owner-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const at = { path: join(root, "skein.db"), outputsDir: join(root, "outputs") };
  const socket = join(root, "nobody.sock");
  const held = await openStore({ ...at, holder: { pid: child.pid, started: processStartTime(child.pid) as string }, socket: () => socket });
  onTestFinished(() => held.close());
  const { session, lease } = await beginTurn(held);
  const store = await openStore(at);
  onTestFinished(() => store.close());
  const silent = () => Promise.reject(new Fault("connection-lost", "nobody listens"));
  const parts = { store: async () => store, running: new RunningTurns(), connect: silent } as Partial<EngineDeps> as EngineDeps;
  return { child, session: session.id, parts, holder: (await store.holder(session.id))!, held, lease };
}

test("an owner that is stopped is said to be, at once, with the command that resumes it", async () => {
  const { child, session, parts, holder } = await heldElsewhere();
  child.kill("SIGSTOP");
  while (!isStopped(child.pid)) await Bun.sleep(5);
  const asked = connectToHolder({ ...parts, connect: () => Promise.reject(new Error("it was asked all the same")) }, session, holder);
  await expect(asked).rejects.toMatchObject({
    code: "owner-unreachable",
    message: expect.stringContaining(`process ${child.pid} runs session ${session} and can't be reached: it is stopped`),
    hint: `skein resume ${shortId(session)} resumes it`,
  });
});

test("an owner that takes a request and never answers is waited for only so long, and one that goes away is told of", async () => {
  const { session, holder } = await heldElsewhere();
  await expect(withTimeout(new Promise(() => {}), holder, session, 20)).rejects.toMatchObject({
    code: "owner-unreachable",
    message: expect.stringContaining("it does not answer"),
    hint: `skein kill ${shortId(session)} --force ends it`,
  });
  const lost = Promise.reject(new Fault("connection-lost", "the server ends"));
  await expect(withTimeout(lost, holder, session)).rejects.toMatchObject({ code: "owner-unreachable" });
  const refused = Promise.reject(new Fault("usage", "the message is empty"));
  await expect(withTimeout(refused, holder, session)).rejects.toMatchObject({ code: "usage" });
  expect(await withTimeout(Promise.resolve("yes"), holder, session)).toBe("yes");
});

test("a turn that ends under whoever asks it is nobody's any more, not a lost lease", async () => {
  const { session, parts, held, lease } = await heldElsewhere();
  await held.release(lease);
  const ended = parts.running.begin({ lease } as Partial<RunningTurn> as RunningTurn);
  const asked = callOwner(parts, session, {
    local: () => {
      setTimeout(ended, 20);
      throw new Fault("lease-lost", "it was given up");
    },
    remote: async () => "there",
    idle: () => "nowhere",
  });
  expect(await asked).toBe("nowhere");
});

test("an owner that ends before it is asked, or before it answers what may be asked again, is nobody", async () => {
  const { session, parts, held, lease } = await heldElsewhere();
  const ways = { local: () => "here", remote: async () => "there", idle: () => "nowhere" };
  const givenUp = async () => {
    await held.release(lease);
    throw new Fault("connection-lost", "it ends");
  };
  const deaf = { ...parts, connect: async () => ({ close: async () => {} }) as Partial<Api> as Api };
  await expect(
    callOwner(deaf, session, { ...ways, remote: () => Promise.reject(new Fault("connection-lost", "it ends")) }),
  ).rejects.toMatchObject({ code: "owner-unreachable" });
  expect(await callOwner(deaf, session, { ...ways, remote: givenUp, mayRepeat: true })).toBe("nowhere");
  const again = await heldElsewhere();
  const ending = { ...again.parts, connect: () => again.held.release(again.lease).then(() => Promise.reject(new Error("nobody listens"))) };
  expect(await callOwner(ending, again.session, ways)).toBe("nowhere");
});

test("messages that are sent until a turn refuses them are all given, and the refusal says that nothing runs", async () => {
  const first = Promise.withResolvers<void>();
  const { api, session, store } = await createTestEngine(async function* (_input, context) {
    await first.promise;
    await context.takeInput();
    yield node(text("hm"));
    yield ok;
  });
  const running = Array.fromAsync(api.turn.start({ ...turn, steerable: true, session: session.id }));
  while ((await api.turn.list({ endedSince: null })).length === 0) await Bun.sleep(1);
  first.resolve();
  const sent = ["hello"];
  let refusal: unknown = null;
  while (sent.length < 1000 && refusal === null) {
    const words = `message ${sent.length}`;
    await api.turn.steer({ session: session.id, text: words }).then(
      () => sent.push(words),
      (error: unknown) => (refusal = error),
    );
    if (sent.length >= 20) await running;
  }
  await running;
  expect(refusal).toMatchObject({ code: "usage", message: "nothing runs in this session" });
  const { tip } = (await store.session(session.id))!;
  const path = await store.path(tip!);
  expect(path.filter(({ author }) => author === "user").map(textOf)).toEqual(sent);
  expect(await store.queue(session.id)).toEqual([]);
});

test("a turn that could not begin takes nothing from the one that runs", () => {
  const live = new RunningTurns();
  const first = live.announce("s");
  live.announce("s").done();
  expect([live.isExpected("s"), live.size]).toEqual([true, 1]);
  expect(live.stop("s")).toBe(true);
  expect(first.signal.aborted).toBe(true);
  first.done();
  expect([live.isExpected("s"), live.size]).toEqual([false, 0]);

  const turns = [1, 2].map((epoch) => ({ lease: { session: "s", epoch } }) as Partial<RunningTurn> as RunningTurn);
  const [earlier] = turns.map((each) => live.begin(each));
  earlier!();
  expect(live.get("s")).toBe(turns[1]);
});
