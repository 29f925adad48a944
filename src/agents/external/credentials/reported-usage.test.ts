import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Usage } from "../../../protocol/tree/usage.ts";
import { ReportedUsage } from "./reported-usage.ts";

const directory = mkdtempSync(join(tmpdir(), "skein-usage-"));
afterAll(() => rmSync(directory, { recursive: true }));

const used = (input: number, output = 1): Usage => ({ input, output, cacheRead: 0, cacheWrite: 0 });
const usageOf = (from: string | null) =>
  new ReportedUsage({ price: async (_, { input }) => input / 100, configDir: directory, cliSession: from });
const total = (usage: Usage, isThreadTotal: boolean, costUsd?: number) =>
  ({ type: "usage", usage, isThreadTotal: isThreadTotal || undefined, costUsd }) as const;

test("usage of messages is summed up, and the CLI's own total replaces the sum", async () => {
  const reported = usageOf(null);
  await reported.add({ type: "answer", parts: [], usage: used(10) }, "m");
  await reported.add({ type: "answer", parts: [], usage: used(20) }, "m");
  expect(reported).toMatchObject({ answers: 2, spent: { usage: used(30, 2) } });
  expect(reported.spent.costUsd).toBeCloseTo(0.3);
  await reported.add(total(used(40, 5), false, 0.5), "m");
  expect(reported.spent).toEqual({ usage: used(40, 5), costUsd: 0.5 });
});

test("the usage of earlier turns is subtracted from a session's total, also in a fork", async () => {
  const turn = async (from: string | null, session: string, count: Usage) => {
    const reported = usageOf(from);
    await reported.add({ type: "session", id: session }, "m");
    await reported.add(total(count, true), "m");
    return reported.spent.usage;
  };
  expect(await turn(null, "a", used(100, 10))).toEqual(used(100, 10));
  expect(await turn("a", "a", used(150, 15))).toEqual(used(50, 5));
  expect(await turn("a", "b", used(170, 18))).toEqual(used(20, 3));
  expect(await turn("a", "a", used(180, 16))).toEqual(used(30, 1));
  expect(await turn("a", "c", used(7, 1))).toEqual(used(7, 1));
  expect(await turn(null, "d", used(9, 9))).toEqual(used(9, 9));
});

test("without a model the cost is unknown", async () => {
  const reported = usageOf(null);
  await reported.add({ type: "answer", parts: [], usage: used(10) }, null);
  expect(reported.spent).toEqual({ usage: used(10), costUsd: null });
});
