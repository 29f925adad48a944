// Prevents recursion: a process inside a session starts no turns, unless the user allowed it for that session.
import { Fault } from "./error.ts";
import { shortId } from "../tree/node.ts";
import type { EnclosingSession } from "./policy.ts";

/** Call it before starting a turn that no other turn has delegated. */
export function refuseNesting(around: EnclosingSession | null): void {
  if (around === null || around.nesting) return;
  const which = around.session === null ? "" : ` (${shortId(around.session)})`;
  throw new Fault("usage", `skein can't be started from inside a session${which}`, {
    hint: "use spawn_session; a person can allow it with --allow-nesting where the session is started",
  });
}
