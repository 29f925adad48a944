import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPlan } from "./plan-flag.ts";

const root = mkdtempSync(join(tmpdir(), "skein-plan-flag-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function put(name: string, content: string | Uint8Array): string {
  writeFileSync(join(root, name), content);
  return join(root, name);
}

test("a plan is taken as it was written", () => {
  const text = "  # Plan\r\n\n1. é🧵\n\n";
  expect(readPlan(put("plan.md", text))).toEqual({ file: join(root, "plan.md"), text });
});

test.each([
  ["that is missing", () => join(root, "none.md"), /--plan: no file .*none\.md/],
  ["that is a directory", () => root, /is a directory/],
  ["that is no file", () => "/dev/null", /is no regular file/],
  ["that is empty", () => put("empty.md", ""), /is empty/],
  ["of blanks", () => put("blank.md", " \n\t\n"), /is empty/],
  ["that is too large", () => put("large.md", "x".repeat(100_001)), /has 100001 bytes; a plan may have 100000/],
  ["that is no text", () => put("binary.md", new Uint8Array([0x23, 0xff, 0xfe])), /is not UTF-8 text/],
])("a plan %s is refused", (_title, file, says) => {
  expect(() => readPlan(file())).toThrow(says);
});

test("the largest plan is taken", () => {
  expect(readPlan(put("most.md", "x".repeat(100_000))).text).toHaveLength(100_000);
});
