import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { catchUp, Transcript } from "../../store/transcript.ts";
import { TurnTranscript } from "./transcripts.ts";

const session = { id: "01a1f215-0fd6-7490-9e8b-500000000000", createdAt: 0, agent: "native", model: null } as Session;

function node(id: string): Node {
  return {
    id,
    parent: null,
    session: session.id,
    turn: null,
    author: "user",
    at: 0,
    parts: [{ kind: "text", text: id }],
    createdAt: 0,
  } as unknown as Node;
}

function idsIn(path: string): string[] {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n").slice(1);
  return lines.map((line) => JSON.parse(line).id as string);
}

function fail(message: string): void {
  throw new Error(message);
}

async function withPath(act: (path: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "skein-transcript-"));
  try {
    await act(join(directory, "session.jsonl"));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test("a node that comes before the file is open is in the file once, whether the store already had it or not", () =>
  withPath(async (path) => {
    const transcript = new TurnTranscript(async () => {
      const file = Transcript.open(path, session);
      await catchUp(file, [node("a"), node("b")]);
      return file;
    }, fail);
    transcript.append(node("b"));
    transcript.append(node("c"));
    expect(existsSync(path)).toBe(false);
    await Promise.all([transcript.openLate(), transcript.openLate()]);
    transcript.append(node("d"));
    await transcript.close();
    expect(idsIn(path)).toEqual(["a", "b", "c", "d"]);
  }));

test("a file that can't be opened is reported once, and the nodes are written when a later attempt succeeds", () =>
  withPath(async (path) => {
    const problems: string[] = [];
    let attempts = 0;
    const transcript = new TurnTranscript(
      async () => {
        attempts += 1;
        if (attempts < 3) throw new Error("no space");
        return Transcript.open(path, session);
      },
      (message) => problems.push(message),
    );
    transcript.append(node("a"));
    await transcript.openLate();
    await transcript.openLate();
    expect(problems).toEqual(["the transcript could not be written: no space"]);
    await transcript.openLate();
    await transcript.close();
    expect(idsIn(path)).toEqual(["a"]);
  }));

test("an attempt before the turn throws", async () => {
  const transcript = new TurnTranscript(async () => Promise.reject(new Error("no space")), fail);
  await expect(transcript.open()).rejects.toThrow("no space");
});

test("a closed transcript is not opened any more", () =>
  withPath(async (path) => {
    const transcript = new TurnTranscript(async () => Transcript.open(path, session), fail);
    transcript.append(node("a"));
    await transcript.close();
    await transcript.openLate();
    expect(existsSync(path)).toBe(false);
  }));
