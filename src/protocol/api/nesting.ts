// Prevents recursion: a process inside a session starts no turns, unless the user allowed it for that session.
import { Fault } from "./error.ts";
import { shortId } from "../tree/node.ts";
import type { EnclosingSession } from "./policy.ts";

/** Call it before starting a turn that no other turn has delegated. */
export function refuseNesting(enclosing: EnclosingSession | null): void {
  if (enclosing === null || enclosing.nesting) return;
  const label = enclosing.session === null ? "" : ` (${shortId(enclosing.session)})`;
  throw new Fault("usage", `skein can't be started from inside a session${label}`, {
    hint: "use spawn_session; the user can allow it by starting the session with --allow-nesting",
  });
}
