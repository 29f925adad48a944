// The identifier of a session in answers: its name, or its full id. A caller can pass it back.
import type { Session } from "../../protocol/tree/turn.ts";

export function sessionIdentifier(session: Pick<Session, "id" | "name">): string {
  return session.name ?? session.id;
}
