import { expect, test } from "bun:test";
import { createEarlyKeys } from "./early-keys.ts";

test("keys before the release are sent once, in their order, and later ones are not taken", () => {
  const sent: string[] = [];
  const keys = createEarlyKeys((text) => sent.push(text));
  for (const key of ["h", "ä", "\x7f", "\r"]) expect(keys.take(key)).toBe(true);
  expect(sent).toEqual([]);
  keys.release();
  keys.release();
  expect(sent).toEqual(["hä\x7f\r"]);
  expect(keys.take("x")).toBe(false);
});

test("an answer of the terminal is left to the renderer", () => {
  const keys = createEarlyKeys(() => expect.unreachable());
  for (const answer of ["\x1b[?62;c", "\x1b[1;1R", "\x1bP>|tmux 3.4\x1b\\"]) expect(keys.take(answer)).toBe(false);
  keys.release();
});
