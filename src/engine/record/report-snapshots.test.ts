import { expect, test } from "bun:test";
import type { Clock } from "../../kit/flow/clock.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import { reportSnapshots } from "./report-snapshots.ts";

/** Snapshots that end when the test says so, and a clock whose timers the test fires. */
function setUp() {
  const types: string[] = [];
  const ends: (() => void)[] = [];
  const timers = new Set<() => void>();
  const clock: Clock = {
    now: () => 0,
    setTimer: (_ms, onDue) => {
      timers.add(onDue);
      return () => timers.delete(onDue);
    },
  };
  const take = () => new Promise<string | null>((resolve) => ends.push(() => resolve("id")));
  const snapshots = reportSnapshots({ take } as unknown as Snapshots, ({ type }) => types.push(type), clock);
  return { types, ends, timers, snapshots };
}

test("a short snapshot is not reported", async () => {
  const { types, ends, timers, snapshots } = setUp();
  const taken = snapshots.take("/p");
  ends[0]!();
  expect(await taken).toBe("id");
  expect([types, timers.size]).toEqual([[], 0]);
});

test("long snapshots that overlap have one start and one end", async () => {
  const { types, ends, timers, snapshots } = setUp();
  const both = [snapshots.take("/p"), snapshots.take("/p")];
  for (const fire of timers) fire();
  expect(types).toEqual(["snapshot.started"]);
  ends[0]!();
  await both[0];
  expect(types).toEqual(["snapshot.started"]);
  ends[1]!();
  await both[1];
  expect(types).toEqual(["snapshot.started", "snapshot.ended"]);
});
