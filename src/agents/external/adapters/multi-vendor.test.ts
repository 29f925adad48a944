import { expect, test } from "bun:test";
import { vendorRoute } from "./multi-vendor.ts";

test.each([
  ["claude-opus-5-5", "anthropic"],
  ["gpt-5.2", "openai"],
  ["o3", "openai"],
  ["gemini-3.8-flash", "gemini"],
  ["something-else", "anthropic"],
])("%s is a model of %s", (model, vendor) => {
  expect(vendorRoute(model)).toMatchObject({ vendor });
});

test("without a model the first vendor is used", () => {
  expect(vendorRoute(null).vendor).toBe("anthropic");
});
