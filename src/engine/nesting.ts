// No recursion: a process inside a session starts no turns, unless a person allowed it where that session was started.
import { Fault } from "../protocol/error.ts";
import { shortId } from "../protocol/node.ts";
import type { Around } from "../protocol/policy.ts";

/** For turns that nobody delegated: those below one are its own business. */
export function refuseNesting({ around }: { around: () => Around | null }): void {
  const session = around();
  if (session === null || session.nesting) return;
  const which = session.session === null ? "" : ` (${shortId(session.session)})`;
  throw new Fault("usage", `skein can't be started from inside a session${which}`, {
    hint: "use spawn_session; a person can allow it with --allow-nesting where the session is started",
  });
}
