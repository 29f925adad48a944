// Requests to the process that runs a turn, if that process is suspended, never answers or has just ended. Processes and leases
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

/** A session whose turn belongs to another process, which only sleeps. */
async function sessionOfSleeper() {
  const child = Bun.spawn(["sleep", "600"]);
  onTestFinished(() => child.kill("SIGKILL"));
  const root = mkdtempSync(join(tmpdir(), "skein-owner-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const options = { path: join(root, "skein.db"), outputsDir: join(root, "outputs") };
  const socket = join(root, "nobody.sock");
  const ownerStore = await openStore({
    ...options,
    holder: { pid: child.pid, started: processStartTime(child.pid) as string },
    socket: () => socket,
  });
  onTestFinished(() => ownerStore.close());
  const { session, lease } = await beginTurn(ownerStore);
  const store = await openStore(options);
  onTestFinished(() => store.close());
  const refuseConnection = () => Promise.reject(new Fault("connection-lost", "no process listens"));
  const deps = { store: async () => store, running: new RunningTurns(), connect: refuseConnection } as Partial<EngineDeps> as EngineDeps;
  return { child, session: session.id, deps, holder: (await store.holder(session.id))!, ownerStore, lease };
}

test("a request to a suspended owner fails at once, with the command that resumes it", async () => {
  const { child, session, deps, holder } = await sessionOfSleeper();
  child.kill("SIGSTOP");
  while (!isStopped(child.pid)) await Bun.sleep(5);
  const request = connectToHolder(
    { ...deps, connect: () => Promise.reject(new Error("a suspended owner was contacted")) },
    session,
    holder,
  );
  await expect(request).rejects.toMatchObject({
    code: "owner-unreachable",
    message: expect.stringContaining(`process ${child.pid} runs session ${session} and can't be reached: it is suspended`),
    hint: `skein resume ${shortId(session)} resumes it`,
  });
});

test("a request to an owner fails after a timeout or when the connection is lost", async () => {
  const { session, holder } = await sessionOfSleeper();
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

test("a turn that ends during a request counts as idle, not as a lost lease", async () => {
  const { session, deps, ownerStore, lease } = await sessionOfSleeper();
  await ownerStore.release(lease);
  const finishTurn = deps.running.begin({ lease } as Partial<RunningTurn> as RunningTurn);
  const request = callOwner(deps, session, {
    local: () => {
      setTimeout(finishTurn, 20);
      throw new Fault("lease-lost", "the lease was released");
    },
    remote: async () => "there",
    idle: () => "nowhere",
  });
  expect(await request).toBe("nowhere");
});

test("a session counts as idle if its owner ends before the request, or during one that may be repeated", async () => {
  const { session, deps, ownerStore, lease } = await sessionOfSleeper();
  const handlers = { local: () => "here", remote: async () => "there", idle: () => "nowhere" };
  const releaseAndDisconnect = async () => {
    await ownerStore.release(lease);
    throw new Fault("connection-lost", "it ends");
  };
  const connected = { ...deps, connect: async () => ({ close: async () => {} }) as Partial<Api> as Api };
  await expect(
    callOwner(connected, session, { ...handlers, remote: () => Promise.reject(new Fault("connection-lost", "it ends")) }),
  ).rejects.toMatchObject({ code: "owner-unreachable" });
  expect(await callOwner(connected, session, { ...handlers, remote: releaseAndDisconnect, mayRepeat: true })).toBe("nowhere");
  const second = await sessionOfSleeper();
  const ending = {
    ...second.deps,
    connect: () => second.ownerStore.release(second.lease).then(() => Promise.reject(new Error("no process listens"))),
  };
  expect(await callOwner(ending, second.session, handlers)).toBe("nowhere");
});

test("every message that a turn accepts is delivered, and the first refusal says that nothing runs", async () => {
  const isListed = Promise.withResolvers<void>();
  const { api, session, store } = await createTestEngine(async function* (_input, context) {
    await isListed.promise;
    await context.takeInput();
    yield node(text("hm"));
    yield ok;
  });
  const running = Array.fromAsync(api.turn.start({ ...turn, steerable: true, session: session.id }));
  while ((await api.turn.list({ endedSince: null })).length === 0) await Bun.sleep(1);
  isListed.resolve();
  const sent = ["hello"];
  let refusal: unknown = null;
  while (sent.length < 1000 && refusal === null) {
    const message = `message ${sent.length}`;
    await api.turn.steer({ session: session.id, text: message }).then(
      () => sent.push(message),
      (error: unknown) => (refusal = error),
    );
    if (sent.length >= 20) await running;
  }
  await running;
  expect(refusal).toMatchObject({ code: "usage", message: "nothing runs in this session" });
  const { tip } = (await store.session(session.id))!;
  const path = await store.path(tip);
  expect(path.filter(({ author }) => author === "user").map(textOf)).toEqual(sent);
  expect(await store.queue(session.id)).toEqual([]);
});

test("a turn that could not begin does not affect the running one", () => {
  const running = new RunningTurns();
  const first = running.announce("s");
  running.announce("s").done();
  expect([running.isRequested("s"), running.size]).toEqual([true, 1]);
  expect(running.stop("s")).toBe(true);
  expect(first.signal.aborted).toBe(true);
  first.done();
  expect([running.isRequested("s"), running.size]).toEqual([false, 0]);

  const turns = [1, 2].map((epoch) => ({ lease: { session: "s", epoch } }) as Partial<RunningTurn> as RunningTurn);
  const [finishEarlier] = turns.map((begun) => running.begin(begun));
  finishEarlier!();
  expect(running.get("s")).toBe(turns[1]);
});
