import { expect, test } from "bun:test";
import { loopExample, parseLoopArgument } from "./loop-argument.ts";

test("the command is quoted or one word, and the rest is the task", () => {
  expect(parseLoopArgument(loopExample.slice("/loop ".length))).toEqual({ until: "npm test", task: "make the tests pass" });
  expect(parseLoopArgument("'test -e \"a b\"' write it")).toEqual({ until: 'test -e "a b"', task: "write it" });
  expect(parseLoopArgument("make fix\nthe build")).toEqual({ until: "make", task: "fix\nthe build" });
});

test.each(["", "make", '"npm test"', '"npm test', '"" task', "'x' "])(
  "an argument without a command or a task is refused: %p",
  (argument) => {
    expect(parseLoopArgument(argument)).toBeNull();
  },
);
