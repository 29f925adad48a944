// The name of a transcript file. It is needed for every new session, the file itself only later.
import { join } from "node:path";
import { shortId } from "../protocol/tree/node.ts";
import type { Session } from "../protocol/tree/turn.ts";

/** `<YYYY-MM-DD-HH-MM-SS>-<short id>.jsonl`, in UTC. */
export function transcriptPath(directory: string, session: Pick<Session, "id" | "createdAt">): string {
  const stamp = new Date(session.createdAt).toISOString().slice(0, 19).replaceAll(/[T:]/g, "-");
  return join(directory, `${stamp}-${shortId(session.id)}.jsonl`);
}
