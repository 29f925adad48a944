// How a fault is told.
import { expect, test } from "bun:test";
import { Fault } from "../protocol/api/error.ts";
import { printFault } from "./print/print-fault.ts";

test("a fault is one line and its hint, and what a file or a server put into it can't steer the terminal", () => {
  let told = "";
  const code = printFault(new Fault("config", 'unknown key "mo\x1b[2Jdel\r\n"', { hint: "did you\x1b]0;x\x07 mean:\n  model" }), {
    env: {},
    write: (text) => (told += text),
  });
  expect({ code, told }).toEqual({ code: 3, told: 'skein: unknown key "model "\n       did you mean:\n         model\n' });
});

test("where a fault arose is told only when it is asked for", () => {
  const tell = (env: Record<string, string>) => {
    let told = "";
    printFault(new Error("odd"), { env, write: (text) => (told += text) });
    return told;
  };
  expect(tell({})).toBe("skein: odd\n");
  expect(tell({ SKEIN_DEBUG: "1" })).toContain("cli.test.ts");
});
