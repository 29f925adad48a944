// Exports a tree for programs: one JSON document, or transcript lines that `import` reads back without loss.
import { toPrintedJson } from "../../protocol/json/json-case.ts";
import { interruptedRecord, nodeRecord, sessionRecord, turnRecord } from "../../protocol/json/records.ts";
import type { Handle } from "../../protocol/tree/handle.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import { type OutputLine, treeHeader, treeLines } from "../../protocol/json/tree-lines.ts";
import type { Document } from "./document.ts";

/** Reads all data of a handle. Null if it can't be read, or if it was exported before. */
export type ReadOutput = (handle: Handle) => Promise<OutputLine | null>;

export async function* jsonlDocument({ session, view }: Document, readOutput: ReadOutput): AsyncGenerator<string> {
  yield `${JSON.stringify(treeHeader(session, view))}\n`;
  for (const node of view.nodes) {
    for (const [index, line] of treeLines(node).entries()) {
      const handle = handleIn(node.parts[index]);
      const output = handle === null ? null : await readOutput(handle);
      yield `${JSON.stringify(output === null ? line : { ...line, output })}\n`;
    }
  }
}

export async function* jsonDocument({ session, view, resolve, files }: Document): AsyncGenerator<string> {
  const head = { session_id: session.id, tree_id: session.tree };
  yield `${JSON.stringify(head).slice(0, -1)},\n"sessions": ${list(view.sessions.map(sessionRecord))},\n`;
  yield `"turns": ${list(view.turns.map(turnRecord))},\n"interrupted": ${list((view.interrupted ?? []).map(interruptedRecord))},\n"nodes": [`;
  for (const [index, node] of view.nodes.entries()) yield `${index === 0 ? "" : ","}\n${JSON.stringify(nodeRecord(node))}`;
  yield `\n],\n"outputs": [`;
  let separator = "";
  for (const handle of handlesOf(view.nodes)) {
    const text = await resolve(handle);
    if (text === null) continue;
    yield `${separator}\n${JSON.stringify({ source: handle.source, identifier: handle.identifier, text })}`;
    separator = ",";
  }
  yield `\n],\n"files": ${JSON.stringify(toPrintedJson(files))}}\n`;
}

function list(records: unknown[]): string {
  return records.length === 0 ? "[]" : `[\n${records.map((record) => JSON.stringify(record)).join(",\n")}\n]`;
}

function handlesOf(nodes: Node[]): Handle[] {
  const handles = nodes
    .flatMap((node) => node.parts)
    .map(handleIn)
    .filter((handle) => handle !== null);
  return [...new Map(handles.map((handle) => [`${handle.source}:${handle.identifier}`, handle])).values()];
}

function handleIn(part: Part | undefined): Handle | null {
  return (part?.kind === "result" || part?.kind === "handle" ? part.handle : null) ?? null;
}
