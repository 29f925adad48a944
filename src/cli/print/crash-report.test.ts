// Tests crash reports.
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { saveCrashReport } from "./crash-report.ts";

test("a crash report appends the stack to a file, and the message names the file", () => {
  const state = join(mkdtempSync(join(tmpdir(), "skein-crash-")), "state");
  try {
    const faults = ["first", "second"].map((word) => saveCrashReport(new Error(word), { state, version: "1.2.3" }));
    expect(faults.map(({ message, hint }) => [message, hint])).toEqual(
      ["first", "second"].map((word) => [`the screen crashed: ${word}`, `the full report is at the end of ${state}/crashes.log`]),
    );
    expect(readFileSync(join(state, "crashes.log"), "utf8")).toMatch(
      /skein 1\.2\.3\nError: first\n +at [^]*skein 1\.2\.3\nError: second\n/,
    );
  } finally {
    rmSync(join(state, ".."), { recursive: true });
  }
});

test("a crash report that can't be written is reported, too", () => {
  expect(saveCrashReport("odd", { state: "/dev/null/state", version: "1" }).hint).toMatch(/^its report could not be saved: /);
});
