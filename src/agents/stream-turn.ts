// Turns a promise that emits events into the stream that an agent must return.
import { createFeed } from "../kit/flow/feed.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { AgentEvent } from "../protocol/api/ports.ts";
import type { TurnEnd } from "../protocol/tree/turn.ts";

export type Emit = (event: AgentEvent) => void;

/** Yields every emitted event, then exactly one `end`. Never throws: `toEnd` makes the end of a rejected `work`. */
export async function* streamTurn(work: (emit: Emit) => Promise<TurnEnd>, toEnd = brokenEnd): AsyncGenerator<AgentEvent> {
  const feed = createFeed<AgentEvent>();
  void work(feed.push)
    .catch(toEnd)
    .then((end) => feed.push({ type: "end", end }))
    .finally(feed.end);
  yield* feed;
}

function brokenEnd(error: unknown): TurnEnd {
  return { status: "broken", error: { kind: "broken", message: messageOf(error) } };
}
