import { expect, test } from "bun:test";
import { PauseGate, createGateBehind } from "./pause-gate.ts";

function createPausable() {
  const calls: string[] = [];
  return { calls, pausable: { pause: () => void calls.push("pause"), resume: () => void calls.push("resume") } };
}

/** Whether the gate lets a waiter pass. */
async function isPassed(pauseGate: PauseGate): Promise<boolean> {
  let passed = false;
  void Promise.resolve(pauseGate.whenOpen()).then(() => (passed = true));
  await Bun.sleep(0);
  return passed;
}

test("an open gate does not wait, and a paused one waits until it is resumed", async () => {
  const gate = new PauseGate();
  expect(gate.whenOpen()).toBeNull();
  gate.pause();
  const waiting = gate.whenOpen();
  expect([gate.isPaused, await isPassed(gate)]).toEqual([true, false]);
  gate.resume();
  await waiting;
  expect([gate.isPaused, gate.whenOpen()]).toEqual([false, null]);
});

test("a waiter stays if the gate is paused again before it continues", async () => {
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

test("added pausables are paused and resumed once, however often the gate is", () => {
  const gate = new PauseGate();
  const { calls, pausable } = createPausable();
  gate.add(pausable);
  gate.resume();
  gate.pause();
  gate.pause();
  gate.resume();
  gate.resume();
  expect(calls).toEqual(["pause", "resume"]);
});

test("a pausable added to a paused gate is paused at once, and a removed one is not resumed", () => {
  const gate = new PauseGate();
  const [early, late] = [createPausable(), createPausable()];
  const remove = gate.add(early.pausable);
  gate.pause();
  remove();
  gate.add(late.pausable);
  gate.resume();
  expect([early.calls, late.calls]).toEqual([["pause"], ["pause", "resume"]]);
});

test("a gate behind another is paused with it, and stays paused if it was paused itself", () => {
  const outer = new PauseGate();
  const inner = createGateBehind((pausable) => outer.add(pausable));
  outer.pause();
  expect(inner.isPaused).toBe(true);
  outer.resume();
  expect(inner.isPaused).toBe(false);

  const holder = {};
  inner.pause(holder);
  outer.pause();
  outer.resume();
  expect(inner.isPaused).toBe(true);
  inner.resume(holder);
  expect(inner.isPaused).toBe(false);
});

test("a released gate opens and can't be paused again", async () => {
  const gate = new PauseGate();
  const { calls, pausable } = createPausable();
  gate.add(pausable);
  gate.pause();
  gate.pause({});
  gate.release();
  gate.pause();
  expect([gate.isPaused, calls]).toEqual([false, ["pause", "resume"]]);
});
