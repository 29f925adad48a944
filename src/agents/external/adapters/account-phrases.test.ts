import { expect, test } from "bun:test";
import { peerPackages } from "../../../../bench/peers.ts";
import { accountPhrases, matchAccountPhrase } from "./account-phrases.ts";
import { matchFailure } from "./failure-patterns.ts";
import { loadAdapters } from "./index.ts";

test("every phrase about an account has its kind in the output of every CLI", async () => {
  for (const { name, failures } of await loadAdapters())
    for (const { text, kind, source } of accountPhrases)
      expect([name, source, text, matchFailure(`Error: ${text}.`, failures)]).toEqual([name, source, text, kind]);
});

test.each([
  ["Not authenticated. Please run claude login", "auth"],
  ["Rate limit exceeded", "rate-limited"],
  ["You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro)", "rate-limited"],
  ["Not logged in · Please run /login", "auth"],
  ["Claude usage limit reached. Your limit will reset at 3pm", "rate-limited"],
  ["You have exhausted your daily quota on this model.", "rate-limited"],
  ["Please set an Auth method in your settings.json", "auth"],
  ["No API key found for anthropic.", "auth"],
] as const)("the message '%s' has the kind %s", (message, kind) => {
  expect(matchAccountPhrase(message)).toBe(kind);
});

test("each phrase names a document, or a CLI with the version that bench/peers.ts installs", () => {
  const programs = Object.entries(peerPackages).map(([name, spec]) => `${name} ${spec.slice(spec.lastIndexOf("@") + 1)}`);
  for (const { source } of accountPhrases) expect(["MAOS's document", ...programs]).toContain(source);
});
