import { expect, test } from "bun:test";
import { Fault } from "../../protocol/api/error.ts";
import { printFault } from "./print-fault.ts";

test("a fault is printed as one line and its hint, without control characters", () => {
  let output = "";
  const code = printFault(new Fault("config", 'unknown key "mo\x1b[2Jdel\r\n"', { hint: "did you\x1b]0;x\x07 mean:\n  model" }), {
    env: {},
    write: (text) => (output += text),
  });
  expect({ code, output }).toEqual({ code: 3, output: 'skein: unknown key "model "\n       did you mean:\n         model\n' });
});

test("the stack of an error is printed only with SKEIN_DEBUG", () => {
  const faultOutput = (env: Record<string, string>) => {
    let output = "";
    printFault(new Error("odd"), { env, write: (text) => (output += text) });
    return output;
  };
  expect(faultOutput({})).toBe("skein: odd\n");
  expect(faultOutput({ SKEIN_DEBUG: "1" })).toContain("print-fault.test.ts");
});
