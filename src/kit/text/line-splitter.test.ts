import { expect, test } from "bun:test";
import { LineSplitter, readLines } from "./line-splitter.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function split(chunks: Uint8Array[], max = 1000) {
  const splitter = new LineSplitter(max);
  const lines = chunks.flatMap((chunk) => splitter.push(chunk));
  const last = splitter.end();
  return last ? [...lines, last] : lines;
}

test("only LF ends a line", () => {
  const text = "a\r\nb\rc\u2028d\u0085e\n\nf\n";
  expect(split([bytes(text)]).map((line) => line.text)).toEqual(["a\r", "b\rc\u2028d\u0085e", "", "f"]);
});

test("lines are the same for every chunk size", () => {
  const whole = bytes("één\n漢字漢字\n👨‍👩‍👧 x\nend");
  for (let size = 1; size < whole.length; size += 1) {
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < whole.length; at += size) chunks.push(whole.subarray(at, at + size));
    expect(split(chunks).map((line) => line.text)).toEqual(["één", "漢字漢字", "👨‍👩‍👧 x", "end"]);
  }
});

test("a chunk buffer may be reused after push", () => {
  const splitter = new LineSplitter(100);
  const buffer = Buffer.from("abc");
  splitter.push(buffer);
  buffer.fill("x");
  expect(splitter.push(bytes("\n")).map((line) => line.text)).toEqual(["abc"]);
});

test("an incomplete last line is returned at the end and marked as incomplete", () => {
  expect(split([bytes("a\nb")])).toEqual([
    { text: "a", cutBytes: 0, isIncomplete: false },
    { text: "b", cutBytes: 0, isIncomplete: true },
  ]);
});

test("a line over the limit is cut between characters and reports the number of missing bytes", () => {
  const lines = split([bytes(`${"漢".repeat(10)}\nnext\n`)], 10);
  expect(lines).toEqual([
    { text: "漢漢漢", cutBytes: 21, isIncomplete: false },
    { text: "next", cutBytes: 0, isIncomplete: false },
  ]);
});

test("a line of 100 MB takes no memory beyond the limit", () => {
  const splitter = new LineSplitter(1000);
  const chunk = new Uint8Array(1 << 20).fill(120);
  for (let count = 0; count < 100; count += 1) expect(splitter.push(chunk)).toEqual([]);
  const [line] = splitter.push(bytes("\n"));
  expect(line!.text.length).toBe(1000);
  expect(line!.cutBytes).toBe(100 * (1 << 20) - 1000);
});

test("readLines yields each line as it arrives", async () => {
  async function* stream() {
    yield bytes("a\nb");
    yield bytes("c\n");
  }
  const read: string[] = [];
  for await (const line of readLines(stream(), 100)) read.push(line.text);
  expect(read).toEqual(["a", "bc"]);
});
