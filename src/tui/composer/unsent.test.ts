// What was typed and not sent: what of it is kept, how often, and how it comes back.
import { expect, test } from "bun:test";
import { apply, press, sampleSession, textOf } from "../fixtures/press-keys.ts";
import { firstState } from "../model/state.ts";
import { createDraftSaver, unsentDraft, type UnsentDraft } from "./unsent.ts";

const fresh = firstState({ size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" });
const long = Array.from({ length: 12 }, (_, at) => `row ${at}`).join("\n");

test("an unsent message is restored with its pastes and images, with a notice", () => {
  const typed = apply(
    press(fresh, "s", "e", "e").state,
    { type: "paste", text: long },
    { type: "attached", path: "/a.png", text: "/a.png", problem: null },
  );
  const unsent = unsentDraft(typed)!;
  expect(unsent.text).toBe("see[pasted 12 lines][image a.png]");
  const back = apply(fresh, { type: "unsent", unsent: JSON.parse(JSON.stringify(unsent)), more: 0 });
  expect(textOf(back)).toMatch(/── restored an unsent message ─[^]*> see\[pasted 12 lines\]\[image a\.png\]/);
  expect(press(back, "!", "enter").effects[0]).toEqual({ type: "start", prompt: `see${long}[image a.png]!`, images: ["/a.png"] });
  const more = apply(fresh, { type: "unsent", unsent, more: 2 });
  expect(textOf(more)).toContain("restored an unsent message; 2 more wait for the next start");
});

test("an interrupted turn says what Enter does with a restored message", () => {
  const back = press({ ...fresh, session: sampleSession("s"), isInterrupted: true }, "h", "i").state;
  expect(textOf(back)).toContain("interrupted: Enter sends the message, :continue continues the turn");
});

test("a message is unsent until its turn starts, and a recalled history entry is not", () => {
  const sent = press(fresh, "o", "n", "e", "enter").state;
  expect([sent.draft.text, unsentDraft(sent)?.text]).toEqual(["", "one"]);
  expect(unsentDraft(press(sent, "t", "w", "o").state)?.text).toBe("one\ntwo");
  expect(unsentDraft({ ...sent, activity: "waiting" })).toBeNull();
  const typing = apply(press(fresh, "x").state, { type: "history", entries: ["before"] });
  const recalled = press(typing, "up").state;
  expect([recalled.draft.text, unsentDraft(recalled)?.text]).toEqual(["before", "x"]);
});

test("the unsent message is saved once for many keys, at the latest on exit, and deleted at once when empty", () => {
  const written: (UnsentDraft | null)[] = [];
  const told: string[] = [];
  let problem: string | null = null;
  const place = { claim: () => null, save: (unsent: UnsentDraft | null) => void written.push(unsent), problem: () => problem };
  const kept = createDraftSaver(place, (text) => told.push(text));
  let state = fresh;
  kept.onState(state);
  for (const key of "hello".split("")) kept.onState((state = press(state, key).state));
  expect(written).toEqual([]);
  kept.finish();
  kept.finish();
  expect(written).toEqual([{ text: "hello", chips: [] }]);
  kept.onState((state = press(state, "ctrl+u").state));
  expect(written.at(-1)).toBeNull();
  problem = "the disk is full";
  for (const _ of "12") {
    kept.onState((state = press(state, "a").state));
    kept.finish();
  }
  expect([written.length, told]).toEqual([4, ["the unsent message can't be saved: the disk is full"]]);
});
