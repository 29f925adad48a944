// Tests of desktop notifications, their bytes, and the window title.
import { expect, test } from "bun:test";
import { viKeys } from "../fixtures/press-keys.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { titleOf, withAttention } from "./attention.ts";
import { notificationSequence } from "../terminal/terminal.ts";
import { firstState, step, type State } from "./state.ts";

const session = { id: "s-1", name: "fix\x1b]0;evil\x07 it", tip: null } as unknown as Session;
const fresh: State = { ...firstState({ bindings: viKeys, size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" }), session };

test("a long turn and a question send a notification, unless the terminal has the focus", () => {
  const ended = (tookMs: number) =>
    ({ type: "turn.ended", sessionId: "s-1", turn: { startedAt: 0, endedAt: tookMs, status: "ok" } }) as unknown as Event;
  const asks = { type: "ask.opened", sessionId: "s-2", ask: { question: "Which\ncolour?" } } as unknown as Event;
  const effectsOf = (state: State, event: Event) => withAttention(step(state), event).effects;
  expect(effectsOf(fresh, ended(61_000))).toEqual([{ type: "notify", text: "fix it: ok after 1 m 01 s" }]);
  expect(effectsOf(fresh, asks)).toEqual([{ type: "notify", text: "fix it asks: Which colour?" }]);
  expect([
    effectsOf(fresh, ended(9_999)),
    effectsOf({ ...fresh, hasFocus: true }, ended(61_000)),
    effectsOf({ ...fresh, hasFocus: true }, asks),
  ]).toEqual([[], [], []]);
});

test("a notification contains no other sequence, and tmux gets it in a wrapper", () => {
  expect(["auto", "bell", "off"].map((how) => notificationSequence(how as "auto", "done", {}))).toEqual(["\x07", "\x07", ""]);
  expect(notificationSequence("osc", "a\x1b\\\x07b", {})).toBe("\x1b]9;skein: a \\ b\x07");
  expect(notificationSequence("osc", "done", { TMUX: "x" })).toBe("\x1bPtmux;\x1b\x1b]9;skein: done\x07\x1b\\");
});

test("the window title has the session's name and state", () => {
  expect(titleOf({ ...fresh, session: null })).toBe("skein · new session · idle");
  expect(titleOf({ ...fresh, activity: "writing" })).toBe("skein · fix it · working");
});
