// A report of a crash: kept where the person is told, or not kept and said so.
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { saveCrashReport } from "./crash-report.ts";

test("the stack is added to the report, and the person is told where it is", () => {
  const state = join(mkdtempSync(join(tmpdir(), "skein-crash-")), "state");
  try {
    const told = ["first", "second"].map((word) => saveCrashReport(new Error(word), { state, version: "1.2.3" }));
    expect(told.map(({ message, hint }) => [message, hint])).toEqual(
      ["first", "second"].map((word) => [`the screen broke: ${word}`, `the whole report is at the end of ${state}/crashes.log`]),
    );
    expect(readFileSync(join(state, "crashes.log"), "utf8")).toMatch(
      /skein 1\.2\.3\nError: first\n +at [^]*skein 1\.2\.3\nError: second\n/,
    );
  } finally {
    rmSync(join(state, ".."), { recursive: true });
  }
});

test("one that can't be written is told, too", () => {
  expect(saveCrashReport("odd", { state: "/dev/null/state", version: "1" }).hint).toMatch(/^and its report could not be kept: /);
});
