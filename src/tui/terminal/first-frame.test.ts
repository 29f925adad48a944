import { expect, test } from "bun:test";
import type { UpdateMessage } from "../model/state.ts";
import { createFirstFrame } from "./first-frame.ts";

const history: UpdateMessage = { type: "history", entries: [] };
const opened: UpdateMessage = { type: "opened", session: null, blocks: [], turns: [] };

function frames() {
  let drawn = 0;
  const frame = createFirstFrame(() => (drawn += 1));
  return { frame, drawn: () => drawn };
}

test("nothing is drawn before the first session is read, and everything after it", () => {
  const { frame, drawn } = frames();
  frame.onMessage(history);
  expect(drawn()).toBe(0);
  frame.onMessage(opened);
  frame.onMessage(history);
  expect(drawn()).toBe(2);
  frame.close();
});

test("a key is drawn at once, also while the session is being read", () => {
  const { frame, drawn } = frames();
  frame.onMessage({ type: "key", key: { name: "a", text: "a" }, now: 0 });
  expect(drawn()).toBe(1);
  frame.close();
});

test("a session that takes long to read does not keep the screen empty", async () => {
  const { frame, drawn } = frames();
  frame.onMessage(history);
  while (drawn() === 0) await Bun.sleep(5);
  frame.onMessage(history);
  expect(drawn()).toBe(2);
});
