import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openJsonLog } from "./json-log.ts";

test("a log continues after its last complete line, reports lines that are not JSON, and follows no link", () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-log-"));
  const path = join(directory, "log.jsonl");
  const warnings: string[] = [];
  const first = openJsonLog(path, (message) => warnings.push(message));
  expect(first.lines).toEqual([]);
  first.append({ n: 1, text: "é\n" });
  first.close();
  writeFileSync(path, `${readFileSync(path, "utf8")}oops\n{"n":2`);
  const again = openJsonLog(path, (message) => warnings.push(message));
  expect(again.lines).toEqual([{ n: 1, text: "é\n" }]);
  expect(warnings).toEqual([`${path}: line 2 is not JSON`]);
  again.append({ n: 3 });
  again.close();
  expect(readFileSync(path, "utf8")).toBe('{"n":1,"text":"é\\n"}\noops\n{"n":3}\n');
  symlinkSync(path, join(directory, "link"));
  expect(() => openJsonLog(join(directory, "link"), () => {})).toThrow();
  rmSync(directory, { recursive: true });
});
