// The label of a session for the terminal. Names come from users and imports, so control characters are removed.
import { shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { stripControls } from "../terminal/style.ts";

export function printableLabel({ name, id }: Pick<Session, "name" | "id">): string {
  return stripControls(name ?? shortId(id));
}
