// The runner of pending turns with a clock of the test: due times, order, free sessions, and turns that could not start.
import { expect, test } from "bun:test";
import type { Clock } from "../kit/flow/clock.ts";
import type { Api } from "../protocol/api/api.ts";
import type { PendingTurn } from "../protocol/api/control.ts";
import { Fault } from "../protocol/api/error.ts";
import { PendingRunner } from "./pending-runner.ts";

/** A time of day that only the test advances. `advance` runs due timers, and lets their promises settle. */
function createTestClock() {
  let now = 1_900_000_000_000;
  const timers = new Map<() => void, number>();
  const clock: Clock = {
    now: () => now,
    setTimer(ms, onDue) {
      timers.set(onDue, now + ms);
      return () => timers.delete(onDue);
    },
  };
  const settle = async () => {
    for (let turns = 0; turns < 50; turns++) await Promise.resolve();
  };
  const advance = async (ms: number, stepMs = 100) => {
    for (const end = now + ms; now < end;) {
      now = Math.min(end, now + stepMs);
      for (const [onDue, at] of timers.entries().toArray()) if (at <= now && timers.delete(onDue)) onDue();
      await settle();
    }
  };
  return { clock, advance, setTime: (time: number) => (now = time) };
}

const pendingTurn = (id: string, more: Partial<PendingTurn> = {}): PendingTurn => ({
  id,
  session: `session of ${id}`,
  kind: "queued",
  prompt: id,
  place: 1,
  queuedAt: 0,
  wakeAt: null,
  problem: null,
  isSessionBusy: false,
  credential: null,
  caller: { directory: "/", trust: null },
  ...more,
});

function createTestRunner(turns: PendingTurn[]) {
  const time = createTestClock();
  const starts: { id: string; at: number }[] = [];
  const logs: string[] = [];
  const state = { turns, version: 0, start: async (_id: string): Promise<void> => {} };
  const apiOf = (): Partial<Record<keyof Api, unknown>> => ({
    turn: {
      startPending: async function* ({ pending }: { pending: string }) {
        starts.push({ id: pending, at: time.clock.now() });
        await state.start(pending);
        state.turns = state.turns.filter(({ id }) => id !== pending);
        yield { type: "turn.started", turnId: pending };
      },
    },
    close: async () => {},
  });
  const runner = new PendingRunner({
    pending: async () => state.turns,
    apiFor: async () => apiOf() as Api,
    callerVersion: () => state.version,
    clock: time.clock,
    log: (line) => logs.push(line),
  });
  runner.start();
  return { ...time, runner, starts, logs, state };
}

test("only the next turn of a free session starts, and not before its time", async () => {
  const start = 1_900_000_000_000;
  const { advance, starts, state } = createTestRunner([
    pendingTurn("second", { session: "s", place: 2 }),
    pendingTurn("busy", { isSessionBusy: true }),
    pendingTurn("later", { wakeAt: start + 10_000 }),
    pendingTurn("now"),
  ]);
  await advance(5_000);
  expect(starts.map(({ id }) => id)).toEqual(["now"]);
  await advance(5_300);
  expect(starts.map(({ id }) => id)).toEqual(["now", "later"]);
  state.turns = state.turns.map((turn) => ({ ...turn, isSessionBusy: false, place: 1 }));
  await advance(500);
  expect(starts.map(({ id }) => id)).toEqual(["now", "later", "second", "busy"]);
});

test("a machine that was suspended beyond the wake time starts the turn at its next check, once", async () => {
  const { advance, starts, setTime, state } = createTestRunner([pendingTurn("later", { wakeAt: 1_900_000_000_000 + 3_600_000 })]);
  const isRunning = Promise.withResolvers<void>();
  state.start = () => isRunning.promise;
  await advance(1_000);
  setTime(1_900_000_000_000 + 8 * 3_600_000);
  await advance(5_000);
  expect(starts.map(({ id }) => id)).toEqual(["later"]);
  isRunning.resolve();
});

test("five turns that waited for one credential and are all late start in different seconds", async () => {
  const waiting = Array.from({ length: 5 }, (_, n) => pendingTurn(`w${n}`, { kind: "waiting", wakeAt: 0, credential: "anthropic" }));
  const { advance, starts } = createTestRunner([...waiting, pendingTurn("other", { kind: "waiting", wakeAt: 0, credential: "openai" })]);
  await advance(1_000);
  expect(starts.map(({ id }) => id)).toEqual(["w0", "other"]);
  await advance(15_000);
  const times = starts.filter(({ id }) => id.startsWith("w")).map(({ at }) => Math.floor(at / 1000));
  expect(new Set(times).size).toBe(5);
});

test("a turn that can't start is tried again after a minute or with a new caller, and is reported once", async () => {
  const { advance, starts, logs, state } = createTestRunner([pendingTurn("blocked")]);
  state.start = () => Promise.reject(new Fault("auth", "no key"));
  await advance(30_000);
  expect(starts).toHaveLength(1);
  await advance(31_000);
  expect(starts).toHaveLength(2);
  state.version += 1;
  await advance(500);
  expect(starts).toHaveLength(3);
  expect(logs).toEqual([expect.stringContaining("could not start: no key")]);
});

test("a turn without a key is tried again at once if a caller connected while it was tried", async () => {
  const { advance, starts, state } = createTestRunner([pendingTurn("blocked")]);
  state.start = async () => {
    if (starts.length > 1) return;
    state.version += 1;
    throw new Fault("auth", "no key");
  };
  await advance(1_000);
  expect(starts).toHaveLength(2);
  expect(state.turns).toEqual([]);
});

test("a session that another process took meanwhile is tried again at the next check", async () => {
  const { advance, starts, state, runner } = createTestRunner([pendingTurn("turn")]);
  state.start = () => Promise.reject(new Fault("session-busy", "in use"));
  await advance(1_000);
  expect(starts.length).toBeGreaterThan(1);
  expect(starts.length).toBeLessThan(7);
  runner.stop();
  const { length } = starts;
  await advance(5_000);
  expect(starts).toHaveLength(length);
});
