import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPlan } from "./plan-flag.ts";

const root = mkdtempSync(join(tmpdir(), "skein-plan-flag-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function writePlan(name: string, content: string | Uint8Array): string {
  writeFileSync(join(root, name), content);
  return join(root, name);
}

test("a plan is read unchanged", () => {
  const text = "  # Plan\r\n\n1. é🧵\n\n";
  expect(readPlan(writePlan("plan.md", text))).toEqual({ file: join(root, "plan.md"), text });
});

test.each([
  ["that is missing", () => join(root, "none.md"), /--plan: no file .*none\.md/],
  ["that is a directory", () => root, /is a directory/],
  ["that is a device", () => "/dev/null", /is no regular file/],
  ["that is empty", () => writePlan("empty.md", ""), /is empty/],
  ["of white space", () => writePlan("blank.md", " \n\t\n"), /is empty/],
  ["that is too large", () => writePlan("large.md", "x".repeat(100_001)), /has 100001 bytes; a plan may have 100000/],
  ["that is not UTF-8", () => writePlan("binary.md", new Uint8Array([0x23, 0xff, 0xfe])), /is not UTF-8 text/],
])("a plan %s is refused", (_title, file, message) => {
  expect(() => readPlan(file())).toThrow(message);
});

test("a plan of the maximum size is accepted", () => {
  expect(readPlan(writePlan("largest.md", "x".repeat(100_000))).text).toHaveLength(100_000);
});
