// Tests the prompt key by key, the history and completion.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completeWord } from "../repl/complete.ts";
import { historyFile, openHistory } from "./history.ts";
import { keyDecoder } from "./keys.ts";
import { freshPrompt, continuationOf, press, type KeyResult, type Prompt } from "./prompt.ts";

const root = mkdtempSync(join(tmpdir(), "skein-repl-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function typed(text: string, prompt: Prompt = freshPrompt([])): KeyResult {
  let result: KeyResult = { prompt };
  for (const key of keyDecoder()(text)) result = press(result.prompt, key);
  return result;
}

describe("an entry", () => {
  test("an entry ends with Enter", () => {
    expect(typed("hello\r").entered).toBe("hello");
  });
  test("an entry continues after a backslash or Alt-Enter, in a fence and in a paste", () => {
    expect(typed("a\\\rb\x1b\rc\r").entered).toBe("a\nb\nc");
    expect(typed("```\rcode\r```\r").entered).toBe("```\ncode\n```");
    expect(typed("\x1b[200~one\rtwo\r\x1b[201~\r").entered).toBe("one\ntwo");
    expect(continuationOf("two backslashes \\\\")).toBeNull();
  });
  test("Ctrl-C drops an entry; at an empty one Ctrl-C stops and Ctrl-D leaves", () => {
    expect(typed("abc\x03")).toMatchObject({ action: "stop", prompt: { line: { text: "" } } });
    expect(typed("\x03").action).toBe("stop");
    expect(typed("\x04").action).toBe("leave");
    expect(typed("ab\x01\x04").prompt.line.text).toBe("b");
  });
  test("the arrows show history entries, and then the unsent text again", () => {
    const prompt = freshPrompt(["old", "two\nrows"]);
    expect(typed("dra\x1b[A", prompt).prompt.line.text).toBe("two\nrows");
    expect(typed("dra\x1b[A\x1b[A\x1b[A", prompt).prompt.line.text).toBe("old");
    expect(typed("dra\x1b[A\x1b[A\x1b[A\x1b[B\x1b[B", prompt).prompt.line.text).toBe("dra");
  });
});

describe("history", () => {
  test("history is stored per project, readable by its owner only, with multi-line entries", () => {
    const file = historyFile(root, "/some/project");
    const history = openHistory(file);
    for (const entry of ["one", "one", "  ", "two\nlines"]) history.add(entry);
    expect(openHistory(file).entries).toEqual(["one", "two\nlines"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(historyFile(root, "/other/project")).not.toBe(file);
  });
  test("history skips incomplete lines and is limited to 1000 entries", () => {
    const file = join(root, "long.jsonl");
    writeFileSync(file, `{"no":1}\n"torn\n${Array.from({ length: 2500 }, (_, index) => JSON.stringify(`entry ${index}`)).join("\n")}\n`);
    expect(openHistory(file).entries).toHaveLength(1000);
    expect(readFileSync(file, "utf8").trim().split("\n")).toHaveLength(1000);
  });
  test("history that can't be written is available in this process", () => {
    const history = openHistory("/dev/null/history");
    history.add("one");
    expect(history.entries).toEqual(["one"]);
  });
});

test("Tab inserts the only match, else the common prefix, else lists the matches", () => {
  const candidates = ["/back", "/branches", "/tree"];
  expect(completeWord("/t", candidates)).toEqual({ insertion: "ree ", choices: [] });
  expect(completeWord("/", candidates)).toEqual({ insertion: "", choices: candidates });
  expect(completeWord("a", ["abc1", "abc2"])).toEqual({ insertion: "bc", choices: [] });
  expect(completeWord("x", candidates)).toEqual({ insertion: "", choices: [] });
});
