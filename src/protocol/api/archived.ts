// Archived sessions are read-only. The engine checks before it prepares a turn, and the store when it gives out a lease.
import { Fault } from "./error.ts";
import { shortId } from "../tree/node.ts";
import type { Session } from "../tree/turn.ts";

export function refuseArchived({ id, name, archivedAt }: Pick<Session, "id" | "name" | "archivedAt">): void {
  if (archivedAt === null) return;
  throw new Fault("session-archived", `session ${name ?? shortId(id)} is archived, so it takes no turn and no message`, {
    hint: `bring it back first: skein restore ${shortId(id)}`,
  });
}
