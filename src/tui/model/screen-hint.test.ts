import { expect, test } from "bun:test";
import { turnOf } from "../fixtures/press-keys.ts";
import { turnBlocks } from "./blocks.ts";
import { screenHint } from "./screen-hint.ts";

test("hints on the screen name slash commands instead of flags", () => {
  const hints: [hint: string, expected: string][] = [
    [
      "continue with `skein run --resume`, or hand the session to another agent with -a",
      "continue with /continue, or hand the session to another agent with /agent",
    ],
    [
      "go on with --resume, or hand the session to another agent with -a",
      "go on with /continue, or hand the session to another agent with /agent",
    ],
    ["wait, or use another agent or model with -a or -m", "wait, or use another agent or model with /agent or /model"],
    ['skein run --resume 1234 "message"', "/continue"],
    ["`skein list` shows the sessions", "/resume shows the sessions"],
    ["pre-a post -are unchanged, as is well-a", "pre-a post -are unchanged, as is well-a"],
  ];
  for (const [hint, expected] of hints) expect(screenHint(hint)).toBe(expected);
  expect(screenHint(null)).toBeNull();
});

test("the error of a failed turn has a hint for the screen", () => {
  const [error] = turnBlocks(
    turnOf({ status: "network", error: { kind: "network", message: "lost", hint: "continue with `skein run --resume`" } as never }),
  );
  expect(error).toMatchObject({ kind: "error", hint: "continue with /continue" });
});
