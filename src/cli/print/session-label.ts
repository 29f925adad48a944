// The label of a session for the terminal. Names come from users and imports, so control characters are removed.
import { sessionLabel, type Session } from "../../protocol/tree/turn.ts";
import { stripControls } from "../terminal/style.ts";

export function printableLabel(session: Pick<Session, "name" | "id">): string {
  return stripControls(sessionLabel(session));
}
