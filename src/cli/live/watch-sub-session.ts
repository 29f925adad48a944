// Follows a sub-session to the end of its turn.
import type { Api } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";

export type WatchEvents = Api["turn"]["watch"];
export type SubSessionWatch = { session: string; onEvent: (event: Event) => void; isClosed: () => boolean };

/** The turn of the sub-session may not have started yet, so it watches until one has ended. */
export async function watchSubSession(watch: WatchEvents, { session, onEvent, isClosed }: SubSessionWatch): Promise<void> {
  let seq = 0;
  for (let hasEnded = false; !isClosed() && !hasEnded;) {
    for await (const event of watch({ session, afterSeq: seq, until: "idle" })) {
      seq = event.seq;
      hasEnded ||= event.type === "turn.ended";
      onEvent(event);
    }
    if (!hasEnded) await Bun.sleep(100);
  }
}
