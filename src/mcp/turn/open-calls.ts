// The calls of a running turn that have no result yet. A caller that joins late reads them from the last nodes of the turn.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Api } from "../../protocol/api/api.ts";
import { callsOf, mainArgument, type CallPart, type Node } from "../../protocol/tree/node.ts";
import type { Turn } from "../../protocol/tree/turn.ts";

/** The calls by their id, in the order of their start. */
export type OpenCalls = ReadonlyMap<string, Pick<CallPart, "name" | "input">>;

/** The open calls after a node. An answer closes all calls before it. */
export function openCallsAfter(calls: OpenCalls, node: Node): OpenCalls {
  if (node.author === "agent") return new Map(callsOf(node).map(({ id, name, input }) => [id, { name, input }]));
  const open = new Map(calls);
  for (const part of node.parts) if (part.kind === "result") open.delete(part.call);
  return open;
}

export async function readOpenCalls(api: Api, turn: Turn | null): Promise<OpenCalls> {
  const nodes: Node[] = [];
  for (let next = turn?.tip ?? null; next !== null; next = nodes[0]?.author === "tool" ? nodes[0].parent : null)
    nodes.unshift(await api.node.find({ wanted: next }));
  return nodes.reduce<OpenCalls>(openCallsAfter, new Map());
}

/** The latest open call in one line; without one the turn waits for an answer. */
export function activityOf(calls: OpenCalls): string {
  const last = [...calls.values()].at(-1);
  return last === undefined ? "waiting for the model" : oneLine(`${last.name} ${mainArgument(last.input)}`, 80);
}
