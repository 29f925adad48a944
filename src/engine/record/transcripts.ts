// Opens the transcript of a session: creates it with the first turn, and adds missing nodes in later turns.
import { messageOf } from "../../protocol/api/error.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import { catchUp, Transcript } from "../../store/transcript.ts";
import type { EngineDeps } from "../engine.ts";

/** Null if the session has no transcript. Falls back to the data directory if the session's path can't be written. */
export async function openTranscript(deps: EngineDeps, store: Store, session: Session): Promise<Transcript | null> {
  if (session.transcript === null) return null;
  try {
    return await openAt(store, session, session.transcript);
  } catch (error) {
    const elsewhere = deps.fallbackTranscript(session);
    if (elsewhere === session.transcript) throw error;
    deps.warn(`the transcript is written to ${elsewhere}: ${messageOf(error)}`);
    await store.updateSession(session.id, { transcript: elsewhere });
    return openAt(store, session, elsewhere);
  }
}

async function openAt(store: Store, session: Session, path: string): Promise<Transcript> {
  const transcript = Transcript.open(path, session);
  try {
    const { last } = transcript;
    await catchUp(transcript, await (last === null ? store.sessionNodes(session.id) : store.sessionNodesFrom(session.id, last.id)));
    return transcript;
  } catch (error) {
    transcript.close();
    throw error;
  }
}
