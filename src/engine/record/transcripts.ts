// Opens the transcript of a session: creates it with the first turn, and adds missing nodes in later turns.
import { messageOf } from "../../protocol/api/error.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import { catchUp, Transcript } from "../../store/transcript.ts";
import type { EngineDeps } from "../engine.ts";

/** The open transcript of a session that is being written. */
export class TurnTranscript {
  readonly #file: Transcript | null;
  readonly #onProblem: (message: string) => void;
  /** Nodes that could not be written yet, in order: the transcript never has a gap. */
  readonly #unwritten: Node[] = [];

  /** `onProblem` is called once for a series of failed writes. They are no failure of the turn, because the store has the nodes. */
  constructor(file: Transcript | null, onProblem: (message: string) => void) {
    this.#file = file;
    this.#onProblem = onProblem;
  }

  /** Null for a session without a transcript. */
  get path(): string | null {
    return this.#file?.path ?? null;
  }

  /** The next write tries a failed one again. */
  append(node: Node): void {
    if (this.#file === null) return;
    const isWarned = this.#unwritten.length > 0;
    this.#unwritten.push(node);
    try {
      for (let next = this.#unwritten[0]; next !== undefined; next = this.#unwritten[0]) {
        this.#file.append(next);
        this.#unwritten.shift();
      }
    } catch (error) {
      if (!isWarned) this.#onProblem(`the transcript could not be written: ${messageOf(error)}`);
    }
  }

  close(): void {
    this.#file?.close();
  }
}

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
