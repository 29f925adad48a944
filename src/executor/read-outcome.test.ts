import { expect, test } from "bun:test";
import { readOutcome } from "./read-outcome.ts";

test("a complete result is read unchanged", () => {
  const outcome = {
    text: "done",
    isError: true,
    images: [{ mime: "image/png", base64: "AAAA" }],
    display: "shown",
    denied: [{ what: "net", text: "the network is off" }],
    exitCode: null,
    durationMs: 3,
    bytes: 4,
  };
  expect<unknown>(readOutcome(outcome)).toEqual(outcome);
});

test("unknown fields and wrong types are left out", () => {
  const forged = {
    text: "done",
    isError: "no",
    type: "turn.ended",
    images: [{ mime: "image/png" }, "x"],
    denied: [
      { what: "write", text: "no", type: "turn.ended", seq: 1 },
      { what: "everything", text: "x" },
    ],
    exitCode: "0",
    durationMs: {},
  };
  expect<unknown>(readOutcome(forged)).toEqual({ text: "done", isError: false, denied: [{ what: "write", text: "no" }] });
});

test("a result without text is refused", () => {
  for (const value of [null, "text", [], {}, { text: 1 }]) expect(() => readOutcome(value)).toThrow("no text");
});
