// Stopping a turn that another process runs. The process is real; only its lease is written for it.
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Fault } from "../../protocol/api/error.ts";
import { processStartTime } from "../../kit/process/processes.ts";
import { beginTurn } from "../../store/fixtures/begin-turn.ts";
import { openStore } from "../../store/sqlite/sqlite-store.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { killTurn } from "./kill.ts";
import { RunningTurns } from "../turn/running-turns.ts";

const limits = { stopMs: 300, killMs: 500, startMs: 50 };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A session with an open turn, held by a shell that runs `script`. */
async function heldBy(script: string, seenFrom: { namespace?: string } = {}) {
  const child = Bun.spawn(["bash", "-c", `${script}\necho ready; while :; do sleep 0.05; done`], { stdout: "pipe", stderr: "ignore" });
  cleanups.push(() => child.kill("SIGKILL"));
  await child.stdout.getReader().read();
  const holder = { pid: child.pid, started: processStartTime(child.pid) as string };
  const root = mkdtempSync(join(tmpdir(), "skein-kill-"));
  cleanups.push(() => rmSync(root, { recursive: true, force: true }));
  const at = { path: join(root, "skein.db"), outputsDir: join(root, "outputs") };
  const held = await openStore({ ...at, holder });
  const { session, lease, turn } = await beginTurn(held);
  const store = await openStore({ ...at, holder: seenFrom });
  cleanups.push(() => Promise.all([held.close(), store.close()]));
  const kill = () => killTurn(partsOf(store), session.id, { force: false }, limits);
  return { child, store, held, lease, turn, session, kill };
}

function partsOf(store: Store): EngineDeps {
  const reach = () => Promise.reject(new Error("nobody listens"));
  return { store: async () => store, running: new RunningTurns(), connect: reach } as Partial<EngineDeps> as EngineDeps;
}

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  return work.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: unknown) => error as Fault,
  );
}

test("a process that dies of SIGTERM without a word has its turn recorded as killed", async () => {
  const { child, store, turn, kill } = await heldBy("");
  expect(await kill()).toMatchObject({ outcome: "killed", pid: child.pid, status: "killed" });
  expect(child.signalCode ?? (await child.exited, child.signalCode)).toBe("SIGTERM");
  expect((await store.turn(turn.id))?.error?.message).toContain("killed");
});

test("a process that does not listen is killed with what it has started", async () => {
  const { child, kill } = await heldBy("trap '' TERM; (trap '' TERM; exec sleep 86399) & echo $! >&2");
  const below = Bun.spawnSync(["cat", `/proc/${child.pid}/task/${child.pid}/children`])
    .stdout.toString()
    .trim()
    .split(" ")
    .map(Number);
  expect(below.length).toBeGreaterThan(0);
  expect(await kill()).toMatchObject({ outcome: "killed", pid: child.pid });
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  for (const pid of below) expect(processStartTime(pid)).toBeNull();
});

test("a stopped process is killed too", async () => {
  const { child, kill } = await heldBy("");
  process.kill(child.pid, "SIGSTOP");
  expect(await kill()).toMatchObject({ outcome: "killed", pid: child.pid, status: "killed" });
});

test("what a dead process left is recorded, and then nothing runs", async () => {
  const { child, kill } = await heldBy("");
  child.kill("SIGKILL");
  await child.exited;
  expect(await kill()).toMatchObject({ outcome: "killed", pid: null, status: "killed" });
  expect(await kill()).toMatchObject({ outcome: "not-running", pid: null, status: "killed" });
});

test("a holder in another container is named and left alone", async () => {
  const { child, kill } = await heldBy("", { namespace: "pid:[7]" });
  const fault = await faultOf(kill());
  expect({ code: fault.code, message: fault.message }).toEqual({
    code: "session-busy",
    message: expect.stringContaining(`process ${child.pid} of another container`),
  });
  expect(child.exitCode ?? child.signalCode).toBeNull();
});

test("whoever holds a session for something else than a turn is left alone", async () => {
  const { child, held, lease, turn, kill } = await heldBy("");
  await held.endTurn(lease, turn.id, { status: "ok", error: null, nativeId: null, enforced: null });
  expect((await faultOf(kill())).message).toContain("runs no turn");
  expect(child.exitCode ?? child.signalCode).toBeNull();
});
