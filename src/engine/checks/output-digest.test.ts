import { expect, test } from "bun:test";
import { normaliseLine, OutputDigest } from "./output-digest.ts";

function digestOf(...chunks: string[]): string {
  const digest = new OutputDigest();
  for (const chunk of chunks) digest.push(Buffer.from(chunk));
  return digest.digest();
}

test("durations, times, ids, addresses and temporary paths do not change a digest", () => {
  const output = (ms: string, at: string, dir: string) =>
    `${at} start pid ${ms}\n(fail) adds > sum [${ms}ms]\nobject at 0x${ms}f in /tmp/${dir}/a.txt\nRan 3 tests in ${ms}.2s (1m ${ms}s)\n`;
  expect(digestOf(output("12", "2026-11-17T10:00:00.123Z", "x1"))).toBe(digestOf(output("345", "2026-11-17 11:22:33", "y-2")));
});

test("colours and the order of lines do not change a digest", () => {
  expect(digestOf("\x1b[31mfail a\x1b[0m\nfail b\n")).toBe(digestOf("fail b\nfail a"));
});

test("another failure, one more failure and another count change a digest", () => {
  const digests = ["fail a\n", "fail b\n", "fail a\nfail b\n", "fail a\nfail a\n", "3 failed\n", "2 failed\n", ""].map((text) =>
    digestOf(text),
  );
  expect(new Set(digests).size).toBe(7);
});

test("a digest does not depend on the chunks of the output", () => {
  expect(digestOf("took 1", "2 ms\nfä", "il\n")).toBe(digestOf("took 99 ms\nfäil\n"));
});

test("a line without an end is digested in pieces", () => {
  const long = "x".repeat(200_000);
  expect(digestOf(long)).toBe(digestOf(long.slice(0, 1000), long.slice(1000)));
  expect(digestOf(long)).not.toBe(digestOf(`${long}y`));
});

test("numbers that are no time stay in a line", () => {
  expect(normaliseLine("expected 4, got 5 at line 12:7")).toBe("expected 4, got 5 at line 12:7");
  expect(normaliseLine("error TS2322: 3 errors in 2 files")).toBe("error TS2322: 3 errors in 2 files");
});
