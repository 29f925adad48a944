// Finds the recorded state of the project's files at a node. Calls that change files are recorded one answer at a time, so
// a node between them has the state of the last record. If a call could not be recorded, the state after it is not known.
import { Fault } from "../../protocol/api/error.ts";
import { mayChangeFiles } from "../../protocol/api/tool-table.ts";
import type { FileRecord, TurnFiles } from "../../protocol/tree/file-changes.ts";
import { callsOf, shortId, type Node } from "../../protocol/tree/node.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";

/** A state of a project's files, and the time when the files had it. */
export type FileState = { project: string; id: string; at: number };

export type NodeState =
  | { type: "known"; state: FileState }
  /** The nearest nodes with a known state, on the path and after the node. */
  | { type: "unknown"; before: string | null; after: string | null }
  /** Nothing was recorded for the node or anything before it. */
  | { type: "none" };

export async function nodeState(store: Store, node: string): Promise<NodeState> {
  const path = await store.path(node);
  const records = await readRecords(store, path);
  for (let index = path.length - 1; index >= 0; index--) {
    const found = await stateOf(store, records, path, index);
    if (found === "inherited") continue;
    if (found !== "unknown") return { type: "known", state: found };
    const after = await nearestAfter(store, node);
    return { type: "unknown", before: await nearestBefore(store, records, path.slice(0, index)), after };
  }
  return { type: "none" };
}

/** Throws if the state is not known. The message names the nearest nodes that have one. */
export async function requireState(store: Store, node: string, command: string): Promise<FileState> {
  const result = await nodeState(store, node);
  if (result.type === "known") return result.state;
  if (result.type === "none")
    throw new Fault("usage", `no files were recorded for ${shortId(node)} or anything before it`, {
      hint: "a turn records files only if it has tools, git is installed, and the project is not the home directory",
    });
  const { before, after } = result;
  const nearest = [...(before === null ? [] : [`${shortId(before)} before it`]), ...(after === null ? [] : [`${shortId(after)} after it`])];
  const named =
    nearest.length === 0 ? "no node near it has known files" : `the nearest nodes with known files are ${nearest.join(" and ")}`;
  throw new Fault("usage", `the files at ${shortId(node)} are not known: they were not recorded there; ${named}`, {
    hint: before === null && after === null ? undefined : `skein ${command} ${shortId(before ?? after!)}`,
  });
}

type Records = { turns: Map<string, TurnFiles>; byFirst: Map<string, FileRecord>; byLast: Map<string, FileRecord> };

async function readRecords(store: Store, path: Node[]): Promise<Records> {
  const turns = [...new Set(path.flatMap(({ turn }) => (turn === null ? [] : [turn])))];
  const records = await store.turnRecords(turns);
  return {
    turns: await store.turnFiles(turns),
    byFirst: new Map(records.flatMap((record) => (record.first === null ? [] : [[record.first, record] as const]))),
    byLast: new Map(records.flatMap((record) => (record.last === null || record.first === null ? [] : [[record.last, record] as const]))),
  };
}

/** `inherited`: the node changed no file, so it has the state of the node before it. */
async function stateOf(store: Store, records: Records, path: Node[], index: number): Promise<FileState | "unknown" | "inherited"> {
  const node = path[index]!;
  const files = node.turn === null ? undefined : records.turns.get(node.turn);
  const ended = records.byLast.get(node.id);
  if (ended !== undefined) return ended.after === null ? "unknown" : { project: ended.project, id: ended.after, at: ended.endedAt! };
  const isLastOfTurn = path[index + 1]?.turn !== node.turn;
  const turn = files?.after == null || !isLastOfTurn ? null : await store.turn(node.turn!);
  if (turn !== null && (await isAfterLastCall(store, node, turn)))
    return { project: files!.project, id: files!.after!, at: turn.endedAt ?? Date.now() };
  const started = records.byFirst.get(node.id);
  if (started?.before != null) return { project: started.project, id: started.before, at: started.startedAt };
  if (hasChangedFiles(node)) return "unknown";
  const isFirstOfTurn = path[index - 1]?.turn !== node.turn;
  if (files !== undefined && isFirstOfTurn) return { project: files.project, id: files.before, at: node.at };
  return "inherited";
}

/** Whether the node has the result of a call that may have changed files. */
function hasChangedFiles({ parts, turn }: Node): boolean {
  if (turn === null) return false;
  return parts.some(
    (part) => (part.kind === "result" && mayChangeFiles(part.name)) || (part.kind === "handle" && part.handle.source === "bash"),
  );
}

/** Whether no call of the node's turn comes after it. Then it has the state at the end of the turn. */
async function isAfterLastCall(store: Store, node: Node, { tip }: Turn): Promise<boolean> {
  if (callsOf(node).length > 0) return false;
  if (tip === node.id) return true;
  const path = await store.path(tip);
  const position = path.findIndex(({ id }) => id === node.id);
  const later = position < 0 ? [] : path.slice(position + 1).filter(({ turn }) => turn === node.turn);
  return later.length > 0 && later.every(({ parts }) => parts.every(({ kind }) => kind === "text" || kind === "thinking"));
}

async function nearestBefore(store: Store, records: Records, path: Node[]): Promise<string | null> {
  for (let index = path.length - 1; index >= 0; index--) {
    const found = await stateOf(store, records, path.slice(0, index + 1), index);
    if (found !== "unknown" && found !== "inherited") return path[index]!.id;
  }
  return null;
}

const maxSearchedNodes = 200;

/** Searches the nodes after `node`, the nearest first. */
async function nearestAfter(store: Store, node: string): Promise<string | null> {
  let nodes = await store.children(node);
  for (let searched = 0; nodes.length > 0 && searched < maxSearchedNodes; searched += nodes.length) {
    for (const { id } of nodes) {
      const path = await store.path(id);
      const found = await stateOf(store, await readRecords(store, path), path, path.length - 1);
      if (found !== "unknown" && found !== "inherited") return id;
    }
    nodes = (await Promise.all(nodes.map(({ id }) => store.children(id)))).flat();
  }
  return null;
}
