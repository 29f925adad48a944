import { expect, test } from "bun:test";
import { Fault } from "../api/error.ts";
import { formatAtLimit, parseAtLimit, type AtLimit } from "./at-limit.ts";

const accepted: [text: string, atLimit: AtLimit][] = [
  ["stop", { how: "stop" }],
  ["wait", { how: "wait" }],
  ["codex", { how: "agents", agents: [{ agent: "codex", model: null }] }],
  [
    "codex,claude:opus",
    {
      how: "agents",
      agents: [
        { agent: "codex", model: null },
        { agent: "claude", model: "opus" },
      ],
    },
  ],
  ["openai/gpt-5:high", { how: "agents", agents: [{ agent: "native", model: "openai/gpt-5:high" }] }],
  ["pi:anthropic/claude-opus-4-5:high", { how: "agents", agents: [{ agent: "pi", model: "anthropic/claude-opus-4-5:high" }] }],
];

test.each(accepted)("%s is a choice at a limit, and is written the same way", (text, atLimit) => {
  expect(parseAtLimit(text)).toEqual(atLimit);
  expect(formatAtLimit(atLimit)).toBe(text);
});

test("spaces around the commas of a list are ignored", () => {
  expect(formatAtLimit(parseAtLimit(" codex , claude "))).toBe("codex,claude");
});

test.each(["", ",", "codex,", "wait,codex", "codex,stop", "claude:", ":opus", "a b", "x,".repeat(20) + "x"])(
  '"%s" is refused with the expected form',
  (text) => {
    expect(() => parseAtLimit(text)).toThrow(Fault);
    expect(() => parseAtLimit(text)).toThrow(/takes stop, wait, or agents/);
  },
);
