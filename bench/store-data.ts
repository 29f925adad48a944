// Creates a big store for measurements: a million nodes in a thousand sessions, with one path of ten thousand nodes.
// Writes rows in big transactions. The words come from a seeded generator, so every store is the same.
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { NewNode } from "../src/protocol/tree/node.ts";
import { Db } from "../src/store/sqlite/db.ts";
import { acquire, requireLease, currentProcess } from "../src/store/sqlite/lease.ts";
import { indexSome } from "../src/store/sqlite/search/search.ts";
import { createSession, forkSession } from "../src/store/sqlite/tables/sessions.ts";
import type { NewSession, NewTurn } from "../src/store/store.ts";
import { addNode, endTurn, startTurn } from "../src/store/sqlite/tables/write-turn.ts";

export type Size = { nodes: number; sessions: number; pathNodes: number };

export const longSession = "long";
export const rareWord = "zyzzyva";

/** Writes to a temporary path and renames the complete store. */
export async function createStore(path: string, size: Size, report: (line: string) => void): Promise<void> {
  const partial = `${path}.partial`;
  for (const end of ["", "-wal", "-shm"]) rmSync(`${partial}${end}`, { force: true });
  mkdirSync(dirname(path), { recursive: true });
  const db = await Db.open(partial);
  db.exec("pragma synchronous = off");
  const random = seeded(7);
  await fill(db, longSession, size.pathNodes, random);
  const others = size.sessions - 1;
  const nodesPerSession = Math.floor((size.nodes - size.pathNodes) / others);
  let previous: { id: string; middle: string } | null = null;
  for (let index = 0; index < others; index += 1) {
    // Every fifth session is a fork in the middle of the one before it.
    const count = index === others - 1 ? size.nodes - size.pathNodes - nodesPerSession * (others - 1) : nodesPerSession;
    previous =
      index % 5 === 4 && previous
        ? await grow(db, (await forkSession(db, previous.id, previous.middle, { name: null })).id, count, random)
        : await fill(db, null, count, random);
    if (index % 200 === 199) report(`${index + 1} of ${others} sessions`);
  }
  report("full-text index");
  while ((await indexSome(db)) > 0);
  db.exec("pragma wal_checkpoint(truncate)");
  await db.close();
  renameSync(partial, path);
}

export type LongSession = { name: string; directory: string; nodes: number; isCompacted: boolean };

/** Adds one session to a store. A compacted one ends with a summary that replaces all but its last turn. */
export async function addLongSession(path: string, { name, directory, nodes, isCompacted }: LongSession): Promise<void> {
  const db = await Db.open(path);
  db.exec("pragma synchronous = off");
  try {
    const transcript = join(directory, ".skein/sessions", `${name}.jsonl`);
    const { id } = await createSession(db, { ...newSession, name, directory, project: directory, transcript });
    await grow(db, id, nodes - (isCompacted ? 2 : 0), seeded(7));
    if (!isCompacted) return;
    const note = { about: "compaction", keptFrom: null } as const;
    await addTurn(db, id, [{ author: "note", note, parts: [{ kind: "text", text: words(seeded(8), 300) }] }], "summarise");
  } finally {
    db.run`update leases set pid = null`;
    await db.close();
  }
}

async function addTurn(db: Db, session: string, nodes: NewNode[], prompt: string): Promise<void> {
  const lease = await acquire(db, session, currentProcess());
  const { value: turn } = await startTurn(db, lease, { ...newTurn, prompt: { author: "user", parts: [{ kind: "text", text: prompt }] } });
  await db.write(() => {
    const target = requireLease(db, lease);
    const { n } = db.row<{ n: number }>`select n from turns where id = ${turn.id}`!;
    for (const node of nodes) addNode(db, target, { n, id: turn.id }, node);
  });
  await endTurn(db, lease, turn.id, { status: "ok", error: null, nativeId: null, enforced: null });
}

async function fill(db: Db, name: string | null, count: number, random: () => number) {
  return grow(db, (await createSession(db, { ...newSession, name })).id, count, random);
}

/** Turns of at most twenty nodes: a prompt, alternating calls and results, an answer. */
async function grow(db: Db, session: string, count: number, random: () => number): Promise<{ id: string; middle: string }> {
  const lease = await acquire(db, session, currentProcess());
  let middle = "";
  for (let done = 0; done < count;) {
    const turnNodes = Math.min(20, count - done);
    const { value: turn } = await startTurn(db, lease, {
      ...newTurn,
      prompt: { author: "user", parts: [{ kind: "text", text: words(random, 20) }] },
    });
    await db.write(() => {
      const target = requireLease(db, lease);
      const { n } = db.row<{ n: number }>`select n from turns where id = ${turn.id}`!;
      for (let index = 1; index < turnNodes; index += 1) {
        const { value } = addNode(db, target, { n, id: turn.id }, nodeAt(index, random));
        if (done < count / 2) middle = value.id;
      }
    });
    await endTurn(db, lease, turn.id, { status: "ok", error: null, nativeId: null, enforced: null });
    done += turnNodes;
  }
  db.run`update leases set pid = null`;
  return { id: session, middle };
}

function nodeAt(index: number, random: () => number): NewNode {
  const call = `call-${index}`;
  if (index % 2 === 0) {
    return {
      author: "tool",
      parts: [{ kind: "result", call: `call-${index - 1}`, name: "bash", text: words(random, 40), isError: false }],
    };
  }
  return {
    author: "agent",
    model: "replay/one",
    usage: { input: 1200, output: 80, cacheRead: 9000, cacheWrite: 100 },
    costUsd: 0.004,
    parts: [
      { kind: "text", text: words(random, 15) },
      { kind: "call", id: call, name: "bash", input: { command: words(random, 6) } },
    ],
  };
}

const newTurn: Omit<NewTurn, "prompt"> = {
  agent: "native",
  model: "replay/one",
  policy: { name: "workspace", sandbox: "auto", net: "off", allowWrite: [], addDirs: [] },
  enforced: null,
};

const newSession: NewSession = {
  name: null,
  agent: "native",
  model: "replay/one",
  directory: "/project",
  project: "/project",
  task: "bench",
  toolLevel: "orchestrator",
  parentSession: null,
  transcript: null,
};

/** As in real text, few words are common: the k-th word is about 1/k as likely as the first. */
function words(random: () => number, count: number): string {
  const text = Array.from({ length: count }, () => `w${Math.floor(30_000 ** random())}`);
  if (random() < 0.00002) text.push(rareWord);
  return text.join(" ");
}

export const commonWord = "w1";
export const twoWords = ["w120", "w90"];

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
