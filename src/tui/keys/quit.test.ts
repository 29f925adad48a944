// Tests of quitting while turns run in other sessions.
import { expect, test } from "bun:test";
import { apply, press, sampleSession, textOf } from "../fixtures/press-keys.ts";
import { firstState, type Effect } from "../model/state.ts";

const fresh = { ...firstState({ size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" }), session: sampleSession("here") };
const quit: Effect[] = [{ type: "quit" }];
const quitKeys = [":", "q", "u", "i", "t", "enter"];

test("quitting warns once of each turn in another session that it would stop", () => {
  const normal = press(fresh, "escape").state;
  const alone = apply(normal, { type: "set", fields: { running: ["here"] } });
  expect(press(alone, ...quitKeys).effects).toEqual(quit);

  const one = press(apply(normal, { type: "set", fields: { running: ["here", "there"] } }), ...quitKeys);
  expect(one.effects).toEqual([]);
  expect(textOf(one.state)).toContain("── quitting stops a turn in another session; quit again, or see :agents ");
  expect(press(one.state, ...quitKeys).effects).toEqual(quit);

  const more = press(apply(one.state, { type: "set", fields: { running: ["there", "elsewhere"] } }), ...quitKeys);
  expect(more.effects).toEqual([]);
  expect(textOf(more.state)).toContain("── quitting stops 2 turns in other sessions; quit again, or see :agents ");
  expect(press(apply(more.state, { type: "set", fields: { running: [] } }), ...quitKeys).effects).toEqual(quit);
});

test("the second Ctrl+C warns of turns in other sessions, and the third quits", () => {
  const withOtherTurn = apply(fresh, { type: "set", fields: { running: ["there"] } });
  const second = press(withOtherTurn, "ctrl+c", "ctrl+c");
  expect([second.effects, second.state.notice?.text]).toEqual([[], expect.stringContaining("quitting stops a turn")]);
  expect(press(second.state, "ctrl+c").effects).toEqual(quit);
});
