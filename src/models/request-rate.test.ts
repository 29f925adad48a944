import { expect, test } from "bun:test";
import { createRequestRates } from "./request-rate.ts";

test("a request waits until a minute has at most the allowed number, and vendors do not share their limit", () => {
  let now = 0;
  const rates = createRequestRates({ now: () => now });
  const reserve = () => rates("acme", 2)!.reserve();
  expect([reserve(), reserve(), reserve(), reserve(), reserve()]).toEqual([0, 0, 60_000, 60_000, 120_000]);
  expect(rates("other", 2)!.reserve()).toBe(0);
  now = 200_000;
  expect([reserve(), reserve(), reserve()]).toEqual([0, 0, 60_000]);
  expect(rates("acme", undefined)).toBeNull();
});
