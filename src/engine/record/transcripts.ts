// The transcript of a session: made with its first turn, found again and brought up to date by later ones.
import { existsSync } from "node:fs";
import { messageOf } from "../../protocol/api/error.ts";
import { providerOf } from "../../protocol/json/transcript-lines.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import { catchUp, Transcript } from "../../store/transcript.ts";
import type { EngineDeps } from "../engine.ts";

/** Null when the session keeps none. What can't be written where it should goes to the data directory. */
export async function openTranscript(deps: EngineDeps, store: Store, session: Session): Promise<Transcript | null> {
  if (session.transcript === null) return null;
  try {
    return await openAt(store, session, session.transcript);
  } catch (error) {
    const elsewhere = deps.transcriptElsewhere(session);
    if (elsewhere === session.transcript) throw error;
    deps.warn(`the transcript goes to ${elsewhere}: ${messageOf(error)}`);
    await store.updateSession(session.id, { transcript: elsewhere });
    return openAt(store, session, elsewhere);
  }
}

async function openAt(store: Store, session: Session, path: string): Promise<Transcript> {
  const provider = providerOf(session);
  const transcript = existsSync(path) ? Transcript.open(path, { session, provider }) : Transcript.create(path, session, { provider });
  try {
    await catchUp(transcript, await store.sessionNodes(session.id));
    return transcript;
  } catch (error) {
    transcript.close();
    throw error;
  }
}
