import { expect, test } from "bun:test";
import { PauseGate, createGateBehind } from "./pause-gate.ts";

function counted() {
  const calls: string[] = [];
  return { calls, part: { stop: () => void calls.push("stop"), go: () => void calls.push("go") } };
}

/** What has been let through by the time all that can run has run. */
async function isPassed(gate: PauseGate): Promise<boolean> {
  let passed = false;
  void Promise.resolve(gate.passed()).then(() => (passed = true));
  await Bun.sleep(0);
  return passed;
}

test("an open gate keeps nobody waiting, a shut one everybody until it opens", async () => {
  const gate = new PauseGate();
  expect(gate.passed()).toBeNull();
  gate.shut();
  const waiting = gate.passed();
  expect([gate.isShut, await isPassed(gate)]).toEqual([true, false]);
  gate.open();
  await waiting;
  expect([gate.isShut, gate.passed()]).toEqual([false, null]);
});

test("who waits is not let through by a gate that was shut again meanwhile", async () => {
  const gate = new PauseGate();
  gate.shut();
  let passed = false;
  void gate.passed()!.then(() => (passed = true));
  gate.open();
  gate.shut();
  await Bun.sleep(0);
  expect(passed).toBe(false);
  gate.open();
  await Bun.sleep(0);
  expect(passed).toBe(true);
});

test("what is behind it stops and goes once, however often it is shut and opened", () => {
  const gate = new PauseGate();
  const { calls, part } = counted();
  gate.add(part);
  gate.open();
  gate.shut();
  gate.shut();
  gate.open();
  gate.open();
  expect(calls).toEqual(["stop", "go"]);
});

test("what comes to a shut gate stands still at once, and what left is not told", () => {
  const gate = new PauseGate();
  const [early, late] = [counted(), counted()];
  const leave = gate.add(early.part);
  gate.shut();
  leave();
  gate.add(late.part);
  gate.open();
  expect([early.calls, late.calls]).toEqual([["stop"], ["stop", "go"]]);
});

test("a gate behind another is shut with it, and stays shut when it was shut for itself", () => {
  const outer = new PauseGate();
  const inner = createGateBehind((part) => outer.add(part));
  outer.shut();
  expect(inner.isShut).toBe(true);
  outer.open();
  expect(inner.isShut).toBe(false);

  const alone = {};
  inner.shut(alone);
  outer.shut();
  outer.open();
  expect(inner.isShut).toBe(true);
  inner.open(alone);
  expect(inner.isShut).toBe(false);
});

test("a released gate opens for everybody and can't be shut again", async () => {
  const gate = new PauseGate();
  const { calls, part } = counted();
  gate.add(part);
  gate.shut();
  gate.shut({});
  gate.release();
  gate.shut();
  expect([gate.isShut, calls]).toEqual([false, ["stop", "go"]]);
});
