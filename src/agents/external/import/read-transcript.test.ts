import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ImportedTree } from "../../../protocol/tree/import.ts";
import { readTranscript } from "./read-transcript.ts";

const fixtures = join(import.meta.dir, "../../../../test/fixtures/transcripts");
const fileOf = (agent: string) => join(fixtures, agent, "session.jsonl");
const textOf = (agent: string) => readFileSync(fileOf(agent), "utf8");
const agents = ["claude", "codex", "gemini", "pi"] as const;

/** The path to the tip, one word per part. */
function summarize(tree: ImportedTree): string[] {
  const nodes = new Map(tree.nodes.map((node) => [node.id, node]));
  const path = [];
  for (let at = tree.sessions[0]!.tip; at !== null; at = nodes.get(at)!.parent) path.unshift(nodes.get(at)!);
  return path.map((node) => `${node.author}: ${node.parts.map((part) => part.kind).join(" ")}`);
}

const conversation = [
  "user: text",
  "agent: thinking text call",
  "tool: result",
  "agent: call call",
  "tool: result",
  "tool: result",
  "agent: text",
  "user: text",
  "agent: thinking call",
  "tool: result",
  "agent: text",
];

describe("recorded transcripts", () => {
  for (const agent of agents) {
    test(`a transcript of ${agent} is recognised and imported with text, thinking, calls, results, usage and times`, async () => {
      const tree = await readTranscript({ path: fileOf(agent) }, "auto");
      expect(tree).toMatchObject({ format: agent, unreadable: 0, isCutOff: false });
      expect(summarize(tree)).toEqual(conversation);
      const answers = tree.nodes.filter((node) => node.author === "agent");
      expect(answers.every((node) => node.model?.includes("/") && node.usage!.input > 1000 && node.usage!.output > 0)).toBe(true);
      expect(tree.nodes.every((node) => new Date(node.at).toISOString().startsWith("2026-11-16T02:4"))).toBe(true);
      const results = tree.nodes.flatMap((node) => node.parts.filter((part) => part.kind === "result"));
      expect(results.some((part) => part.text.includes("missing.txt: No such file"))).toBe(true);
      expect(results.every((part) => part.name !== "unknown")).toBe(true);
    });

    test(`a transcript of ${agent} always gives the same ids, and its beginning gives the first of them`, async () => {
      const whole = await readTranscript({ path: fileOf(agent) }, agent);
      const again = await readTranscript({ text: textOf(agent) }, "auto");
      expect(again).toEqual(whole);
      const known = new Set(whole.nodes.map((node) => node.id));
      expect(whole.nodes.every((node) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(node.id))).toBe(true);
      expect(known.size).toBe(whole.nodes.length);
      const lines = textOf(agent).split("\n");
      for (let count = 1; count < lines.length; count += 1) {
        const part = await readTranscript({ text: lines.slice(0, count).join("\n") }, agent).catch(() => null);
        if (part === null) continue;
        expect(part.main).toBe(whole.main);
        // Only a message that was still being written has another id.
        expect(part.nodes.slice(0, -2).every((node) => known.has(node.id))).toBe(true);
        expect(part.nodes.length).toBeLessThanOrEqual(whole.nodes.length);
      }
    });

    test(`a transcript of ${agent} with an incomplete last line and an invalid line keeps all other lines`, async () => {
      const lines = textOf(agent).trimEnd().split("\n");
      const middle = Math.floor(lines.length / 2);
      const text = [...lines.slice(0, middle), "\u0000 garbage {", ...lines.slice(middle), '{"type":"mess'].join("\n");
      const tree = await readTranscript({ text }, "auto");
      expect(tree).toMatchObject({ unreadable: 1, isCutOff: true });
      expect(summarize(tree)).toEqual(conversation);
    });
  }
});

describe("a file", () => {
  const errorOf = (text: string, format: Parameters<typeof readTranscript>[1] = "auto") =>
    readTranscript({ text }, format).then(
      () => "no error",
      (error: Error) => error.message,
    );

  test("a file that is not a transcript is refused in one line", async () => {
    for (const text of ["", "\n\n", "hello\n", "[1,2]\n", '{"a":1}\n', "{".repeat(100_000), "null\n".repeat(1000)])
      expect(await errorOf(text)).toMatch(/^standard input is not a transcript of skein, claude, codex, gemini, opencode, pi, atif$/);
    expect(await errorOf(textOf("pi"), "claude")).toBe("standard input is not a transcript of claude");
    expect(await errorOf(textOf("pi").split("\n")[0]!)).toBe("there is no message in standard input");
  });

  test("a missing file and a directory are named in the error", async () => {
    const missing = join(fixtures, "nowhere");
    const errorAt = (path: string) => readTranscript({ path }, "auto").catch((error: Error) => error.message);
    expect([await errorAt(missing), await errorAt(fixtures)]).toEqual([
      `can't read ${missing}: it does not exist`,
      `can't read ${fixtures}: it is a directory`,
    ]);
  });

  test("a file with invalid UTF-8 or an endless line is read within limits", async () => {
    const dir = mkdtempSync(join(tmpdir(), "skein-import-"));
    try {
      const path = join(dir, "session.jsonl");
      const text = Buffer.from(textOf("pi").replaceAll("five words", "five ~ words"));
      text[text.indexOf("~")] = 0xff;
      const lines = text.toString("latin1").split("\n");
      lines.splice(5, 0, `{"type":"custom","id":"aaaaaaaa","data":"${"x".repeat(3 << 20)}"}`);
      writeFileSync(path, Buffer.from(lines.join("\n"), "latin1"));
      const tree = await readTranscript({ path }, "auto", { lineBytes: 1 << 20 });
      expect(tree.unreadable).toBe(1);
      expect(summarize(tree)).toEqual(conversation);
      expect(JSON.stringify(tree.nodes)).toContain("five \ufffd words");
      const refusal = await readTranscript({ path }, "auto", { fileBytes: 1 << 20 }).catch((error: Error) => error.message);
      expect(refusal).toContain("too much to import");
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
