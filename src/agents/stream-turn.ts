// Turns a promise that emits events into the stream that an agent must return.
import { createFeed } from "../kit/flow/feed.ts";
import type { AgentEvent } from "../protocol/api/ports.ts";
import type { NewNode, Node } from "../protocol/tree/node.ts";
import type { TurnEnd } from "../protocol/tree/turn.ts";
import { toTurnError } from "./delegate-failure.ts";

export type Emit = (event: AgentEvent) => void;

/** Emits a node. Resolves when the engine has stored it. */
export function addNode(emit: Emit, node: NewNode): Promise<Node> {
  return new Promise((resolve) => emit({ type: "node", node, recorded: resolve }));
}

/** Yields every emitted event, then exactly one `end`. Never throws: the error of a rejected `work` ends the turn. */
export async function* streamTurn(work: (emit: Emit) => Promise<TurnEnd>): AsyncGenerator<AgentEvent> {
  const feed = createFeed<AgentEvent>();
  void work(feed.push)
    .catch(failedEnd)
    .then((end) => feed.push({ type: "end", end }))
    .finally(feed.end);
  yield* feed;
}

function failedEnd(reason: unknown): TurnEnd {
  const error = toTurnError(reason);
  return { status: error.kind, error };
}
