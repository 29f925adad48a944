// How a session is named to a caller, so that it can name it back: by its name, or by its id where it has none.
import type { Session } from "../../protocol/tree/turn.ts";

export function sessionIdentifier(session: Session): string {
  return session.name ?? session.id;
}
