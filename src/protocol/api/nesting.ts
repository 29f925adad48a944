// No recursion: a process inside a session starts no turns, unless a person allowed it where that session was started.
import { Fault } from "./error.ts";
import { shortId } from "../tree/node.ts";
import type { EnclosingSession } from "./policy.ts";

/** For whoever starts turns that no other turn delegated. */
export function refuseNesting(around: EnclosingSession | null): void {
  if (around === null || around.nesting) return;
  const which = around.session === null ? "" : ` (${shortId(around.session)})`;
  throw new Fault("usage", `skein can't be started from inside a session${which}`, {
    hint: "use spawn_session; a person can allow it with --allow-nesting where the session is started",
  });
}
