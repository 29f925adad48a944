// Stopping a turn of another process. The process is real; the test writes its lease.
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

const timeouts = { stopMs: 300, killMs: 500, startMs: 50 };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A session with an open turn. A shell that runs `script` holds its lease. */
async function sessionOfShell(script: string, ownHolder: { namespace?: string } = {}) {
  const child = Bun.spawn(["bash", "-c", `${script}\necho ready; while :; do sleep 0.05; done`], { stdout: "pipe", stderr: "ignore" });
  cleanups.push(() => child.kill("SIGKILL"));
  await child.stdout.getReader().read();
  const holder = { pid: child.pid, started: processStartTime(child.pid) as string };
  const root = mkdtempSync(join(tmpdir(), "skein-kill-"));
  cleanups.push(() => rmSync(root, { recursive: true, force: true }));
  const options = { path: join(root, "skein.db"), outputsDir: join(root, "outputs") };
  const shellStore = await openStore({ ...options, holder });
  const { session, lease, turn } = await beginTurn(shellStore);
  const store = await openStore({ ...options, holder: ownHolder });
  cleanups.push(() => Promise.all([shellStore.close(), store.close()]));
  const kill = () => killTurn(createDeps(store), session.id, { force: false }, timeouts);
  return { child, store, shellStore, lease, turn, session, kill };
}

function createDeps(store: Store): EngineDeps {
  const connect = () => Promise.reject(new Error("no process listens"));
  return { store: async () => store, running: new RunningTurns(), connect } as Partial<EngineDeps> as EngineDeps;
}

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  return work.then(
    () => Promise.reject(new Error("the promise did not reject")),
    (error: unknown) => error as Fault,
  );
}

test("the turn of a process that SIGTERM ends is recorded as killed", async () => {
  const { child, store, turn, kill } = await sessionOfShell("");
  expect(await kill()).toMatchObject({ outcome: "killed", pid: child.pid, status: "killed" });
  expect(child.signalCode ?? (await child.exited, child.signalCode)).toBe("SIGTERM");
  expect((await store.turn(turn.id))?.error?.message).toContain("killed");
});

test("a process that ignores SIGTERM is killed together with its children", async () => {
  const { child, kill } = await sessionOfShell("trap '' TERM; (trap '' TERM; exec sleep 86399) & echo $! >&2");
  const children = Bun.spawnSync(["cat", `/proc/${child.pid}/task/${child.pid}/children`])
    .stdout.toString()
    .trim()
    .split(" ")
    .map(Number);
  expect(children.length).toBeGreaterThan(0);
  expect(await kill()).toMatchObject({ outcome: "killed", pid: child.pid });
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  for (const pid of children) expect(processStartTime(pid)).toBeNull();
});

test("a process that SIGSTOP has suspended can be killed", async () => {
  const { child, kill } = await sessionOfShell("");
  process.kill(child.pid, "SIGSTOP");
  expect(await kill()).toMatchObject({ outcome: "killed", pid: child.pid, status: "killed" });
});

test("the open turn of a killed process is recorded as killed, and a second kill finds nothing running", async () => {
  const { child, kill } = await sessionOfShell("");
  child.kill("SIGKILL");
  await child.exited;
  expect(await kill()).toMatchObject({ outcome: "killed", pid: null, status: "killed" });
  expect(await kill()).toMatchObject({ outcome: "not-running", pid: null, status: "killed" });
});

test("a holder in another container is named in the error and not killed", async () => {
  const { child, kill } = await sessionOfShell("", { namespace: "pid:[7]" });
  const fault = await faultOf(kill());
  expect({ code: fault.code, message: fault.message }).toEqual({
    code: "session-busy",
    message: expect.stringContaining(`process ${child.pid} of another container`),
  });
  expect(child.exitCode ?? child.signalCode).toBeNull();
});

test("a process that holds a session without a turn is not killed", async () => {
  const { child, shellStore, lease, turn, kill } = await sessionOfShell("");
  await shellStore.endTurn(lease, turn.id, { status: "ok", error: null, nativeId: null, enforced: null });
  expect((await faultOf(kill())).message).toContain("runs no turn");
  expect(child.exitCode ?? child.signalCode).toBeNull();
});
