import { expect, test } from "bun:test";
import type { ToolOutcome } from "../protocol/api/ports.ts";
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
  expect(readOutcome(outcome)).toEqual(outcome as ToolOutcome);
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
  expect(readOutcome(forged)).toEqual({ text: "done", isError: false, denied: [{ what: "write", text: "no" }] });
});

test("a result without text is refused", () => {
  for (const value of [null, "text", [], {}, { text: 1 }]) expect(() => readOutcome(value)).toThrow("no text");
});
