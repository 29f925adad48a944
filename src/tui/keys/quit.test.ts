// Tests of quitting while turns run in other sessions.
import { expect, test } from "bun:test";
import { viKeys, apply, press, sampleSession, textOf } from "../fixtures/press-keys.ts";
import { firstState, type Effect } from "../model/state.ts";

const fresh = {
  ...firstState({ bindings: viKeys, size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" }),
  session: sampleSession("here"),
};
const quit: Effect[] = [{ type: "quit" }];
const quitKeys = [":", "q", "u", "i", "t", "enter"];

test("quitting warns once of each turn in another session that it would stop", () => {
  const normal = press(fresh, "escape").state;
  const withoutOthers = apply(normal, { type: "set", fields: { running: ["here"] } });
  expect(press(withoutOthers, ...quitKeys).effects).toEqual(quit);

  const warnedOfOne = press(apply(normal, { type: "set", fields: { running: ["here", "there"] } }), ...quitKeys);
  expect(warnedOfOne.effects).toEqual([]);
  expect(textOf(warnedOfOne.state)).toContain("── quitting stops a turn in another session; quit again, or see :agents ");
  expect(press(warnedOfOne.state, ...quitKeys).effects).toEqual(quit);

  const warnedOfTwo = press(apply(warnedOfOne.state, { type: "set", fields: { running: ["there", "elsewhere"] } }), ...quitKeys);
  expect(warnedOfTwo.effects).toEqual([]);
  expect(textOf(warnedOfTwo.state)).toContain("── quitting stops 2 turns in other sessions; quit again, or see :agents ");
  expect(press(apply(warnedOfTwo.state, { type: "set", fields: { running: [] } }), ...quitKeys).effects).toEqual(quit);
});

test("the second Ctrl+C warns of turns in other sessions, and the third quits", () => {
  const withOtherTurn = apply(fresh, { type: "set", fields: { running: ["there"] } });
  const second = press(withOtherTurn, "ctrl+c", "ctrl+c");
  expect([second.effects, second.state.notice?.text]).toEqual([[], expect.stringContaining("quitting stops a turn")]);
  expect(press(second.state, "ctrl+c").effects).toEqual(quit);
});
