import { expect, test } from "bun:test";
import { emptyLog, logText, parseLog, sessionKey, turnKey } from "./authorship-log.ts";

const key = turnKey(sessionKey("claude", "c1"), "t1");

test("a log is written with sorted ranges, quoted paths and one entry for each writer, and read again", () => {
  const log = emptyLog("c0", "skein/1");
  log.files.set("z.ts", new Map([12, 1, 3, 2, 10].map((line) => [line, key])));
  log.files.set(
    "a b.ts",
    new Map([
      [1, key],
      [2, "h_31dce776f88375"],
    ]),
  );
  log.files.set("---", new Map([[1, key]]));
  log.files.set("empty.ts", new Map());
  const text = logText(log);
  const [attestations, metadata] = text.split("\n---\n") as [string, string];
  expect(attestations).toBe(`"---"\n  ${key} 1\n"a b.ts"\n  ${key} 1\n  h_31dce776f88375 2\nz.ts\n  ${key} 1-3,10,12`);
  expect(JSON.parse(metadata)).toEqual({
    schema_version: "authorship/3.0.0",
    git_ai_version: "skein/1",
    base_commit_sha: "c0",
    prompts: {},
    sessions: {},
  });
  expect(logText(parseLog(text)!)).toBe(text);
});

test("keys have the form of the standard", () => {
  expect(key).toMatch(/^s_[0-9a-f]{14}::t_[0-9a-f]{14}$/);
  const digest = new Bun.CryptoHasher("sha256").update("claude:c1").digest("hex");
  expect(sessionKey("claude", "c1")).toBe(`s_${digest.slice(0, 14)}`);
});

test("a log without files begins with the divider", () => {
  const text = logText(emptyLog("c0", "skein/1"));
  expect(text).toStartWith("---\n{");
  expect(parseLog(text)?.files.size).toBe(0);
});

const json = '{"schema_version":"authorship/3.0.0"}';
const broken: [why: string, text: string][] = [
  ["no divider", "a note"],
  ["another version", `---\n{"schema_version":"authorship/9.0.0"}`],
  ["no JSON", "---\n{"],
  ["sessions that are a list", `---\n{"schema_version":"authorship/3.0.0","sessions":[]}`],
  ["an entry without a file", `  ${key} 1\n---\n${json}`],
  ["words in place of ranges", `a\n  ${key} one\n---\n${json}`],
  ["line zero", `a\n  ${key} 0-2\n---\n${json}`],
  ["more lines than a file has", `a\n  ${key} 1-99999999\n---\n${json}`],
];
for (const [why, text] of broken) test(`a note with ${why} is no log`, () => expect(parseLog(text)).toBeNull());
