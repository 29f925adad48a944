// Tests of the unsent message: which part is saved, how often, and how it is restored.
import { expect, test } from "bun:test";
import { viKeys, apply, press, sampleSession, textOf } from "../fixtures/press-keys.ts";
import { firstState } from "../model/state.ts";
import { createUnsentSaver, unsentMessage, type UnsentMessage } from "./unsent.ts";

const fresh = firstState({ bindings: viKeys, size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" });
const longPaste = Array.from({ length: 12 }, (_, index) => `row ${index}`).join("\n");

test("an unsent message is restored with its pastes and images, with a notice", () => {
  const typed = apply(
    press(fresh, "s", "e", "e").state,
    { type: "paste", text: longPaste },
    { type: "attached", path: "/a.png", text: "/a.png", problem: null },
  );
  const unsent = unsentMessage(typed)!;
  expect(unsent.text).toBe("see[pasted 12 lines][image a.png]");
  const restored = apply(fresh, { type: "unsent", unsent: JSON.parse(JSON.stringify(unsent)), more: 0 });
  expect(textOf(restored)).toMatch(/── restored an unsent message ─[^]*> see\[pasted 12 lines\]\[image a\.png\]/);
  expect(press(restored, "!", "enter").effects[0]).toEqual({ type: "start", prompt: `see${longPaste}[image a.png]!`, images: ["/a.png"] });
  const withOthers = apply(fresh, { type: "unsent", unsent, more: 2 });
  expect(textOf(withOthers)).toContain("restored an unsent message; 2 more wait for the next start");
});

test("a message is restored in its own session, and those of other sessions wait there", () => {
  const opened = (id: string) => ({ type: "opened" as const, session: sampleSession(id), blocks: [], turns: [] });
  const first = press(apply(fresh, opened("session-1")), "o", "n", "e").state;
  const unsent = unsentMessage(press(apply(first, opened("session-2")), "t", "w", "o").state)!;
  expect(unsent).toEqual({ text: "two", chips: [], session: "session-2", others: [{ text: "one", chips: [], session: "session-1" }] });
  const restored = apply(fresh, opened("session-1"), { type: "unsent", unsent, more: 0 });
  expect([restored.unsent.text, apply(restored, opened("session-2")).unsent.text]).toEqual(["one", "two"]);
  const elsewhere = apply(fresh, opened("session-3"), { type: "unsent", unsent, more: 0 });
  expect([elsewhere.unsent.text, elsewhere.notice?.text]).toEqual(["", "an unsent message waits in session ession-2, ession-1"]);
});

test("an interrupted turn says what Enter does with a restored message", () => {
  const restored = press({ ...fresh, session: sampleSession("s"), isInterrupted: true }, "h", "i").state;
  expect(textOf(restored)).toContain("interrupted: Enter sends the message, :continue continues the turn");
});

test("a message is unsent until its turn starts, and a recalled history entry is not", () => {
  const sent = press(fresh, "o", "n", "e", "enter").state;
  expect([sent.unsent.text, unsentMessage(sent)?.text]).toEqual(["", "one"]);
  expect(unsentMessage(press(sent, "t", "w", "o").state)?.text).toBe("one\ntwo");
  expect(unsentMessage({ ...sent, activity: "waiting" })).toBeNull();
  const typing = apply(press(fresh, "x").state, { type: "history", entries: ["before"] });
  const recalled = press(typing, "up").state;
  expect([recalled.unsent.text, unsentMessage(recalled)?.text]).toEqual(["before", "x"]);
});

test("the unsent message is saved once for many keys, at the latest on exit, and deleted at once when empty", () => {
  const saved: (UnsentMessage | null)[] = [];
  const problems: string[] = [];
  let problem: string | null = null;
  const storage = { claim: () => null, save: (unsent: UnsentMessage | null) => void saved.push(unsent), problem: () => problem };
  const saver = createUnsentSaver(storage, (text) => problems.push(text));
  let state = fresh;
  saver.onState(state);
  for (const key of "hello".split("")) saver.onState((state = press(state, key).state));
  expect(saved).toEqual([]);
  saver.finish();
  saver.finish();
  expect(saved).toEqual([{ text: "hello", chips: [] }]);
  saver.onState((state = press(state, "ctrl+u").state));
  expect(saved.at(-1)).toBeNull();
  problem = "the disk is full";
  for (const _ of "12") {
    saver.onState((state = press(state, "a").state));
    saver.finish();
  }
  expect([saved.length, problems]).toEqual([4, ["the unsent message can't be saved: the disk is full"]]);
});
