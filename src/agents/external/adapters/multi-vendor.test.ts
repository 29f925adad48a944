import { expect, test } from "bun:test";
import { vendorRoute } from "./multi-vendor.ts";

test.each([
  ["claude-opus-5-5", "anthropic", "anthropic"],
  ["gpt-5.2", "openai", "openai-responses"],
  ["o3", "openai", "openai-responses"],
  ["gemini-3.8-flash", "gemini", "gemini"],
  ["something-else", "anthropic", "anthropic"],
])("%s is a model of %s", (model, vendor, wire) => {
  expect(vendorRoute(model)).toMatchObject({ vendor, wire });
});

test("without a model the first vendor is used", () => {
  expect(vendorRoute(null).vendor).toBe("anthropic");
});
