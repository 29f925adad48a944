import { expect, test } from "bun:test";
import { PauseGate, createGateBehind } from "./pause-gate.ts";

function counted() {
  const calls: string[] = [];
  return { calls, part: { pause: () => void calls.push("stop"), resume: () => void calls.push("go") } };
}

/** What has been let through by the time all that can run has run. */
async function isPassed(pauseGate: PauseGate): Promise<boolean> {
  let passed = false;
  void Promise.resolve(pauseGate.whenOpen()).then(() => (passed = true));
  await Bun.sleep(0);
  return passed;
}

test("an open gate keeps nobody waiting, a shut one everybody until it opens", async () => {
  const gate = new PauseGate();
  expect(gate.whenOpen()).toBeNull();
  gate.pause();
  const waiting = gate.whenOpen();
  expect([gate.isPaused, await isPassed(gate)]).toEqual([true, false]);
  gate.resume();
  await waiting;
  expect([gate.isPaused, gate.whenOpen()]).toEqual([false, null]);
});

test("who waits is not let through by a gate that was shut again meanwhile", async () => {
  const gate = new PauseGate();
  gate.pause();
  let passed = false;
  void gate.whenOpen()!.then(() => (passed = true));
  gate.resume();
  gate.pause();
  await Bun.sleep(0);
  expect(passed).toBe(false);
  gate.resume();
  await Bun.sleep(0);
  expect(passed).toBe(true);
});

test("what is behind it stops and goes once, however often it is shut and opened", () => {
  const gate = new PauseGate();
  const { calls, part } = counted();
  gate.add(part);
  gate.resume();
  gate.pause();
  gate.pause();
  gate.resume();
  gate.resume();
  expect(calls).toEqual(["stop", "go"]);
});

test("what comes to a shut gate stands still at once, and what left is not told", () => {
  const gate = new PauseGate();
  const [early, late] = [counted(), counted()];
  const leave = gate.add(early.part);
  gate.pause();
  leave();
  gate.add(late.part);
  gate.resume();
  expect([early.calls, late.calls]).toEqual([["stop"], ["stop", "go"]]);
});

test("a gate behind another is shut with it, and stays shut when it was shut for itself", () => {
  const outer = new PauseGate();
  const inner = createGateBehind((part) => outer.add(part));
  outer.pause();
  expect(inner.isPaused).toBe(true);
  outer.resume();
  expect(inner.isPaused).toBe(false);

  const alone = {};
  inner.pause(alone);
  outer.pause();
  outer.resume();
  expect(inner.isPaused).toBe(true);
  inner.resume(alone);
  expect(inner.isPaused).toBe(false);
});

test("a released gate opens for everybody and can't be shut again", async () => {
  const gate = new PauseGate();
  const { calls, part } = counted();
  gate.add(part);
  gate.pause();
  gate.pause({});
  gate.release();
  gate.pause();
  expect([gate.isPaused, calls]).toEqual([false, ["stop", "go"]]);
});
