// Opens the transcript of a session: creates it with the first turn, and adds missing nodes in later turns.
// A turn may open it while the model answers, because opening takes as long as preparing the request.
import { messageOf } from "../../protocol/api/error.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type { Transcript } from "../../store/transcript.ts";
import type { EngineDeps } from "../engine.ts";

/** The transcript of a turn. Nodes that come before it is open are written when it opens. */
export class TurnTranscript {
  readonly #openFile: () => Promise<Transcript | null>;
  readonly #onProblem: (message: string) => void;
  #opening: Promise<void> | null = null;
  #file: Transcript | null = null;
  /** Nodes that are not written yet, in order: the transcript never has a gap. */
  #unwritten: Node[] = [];
  #isWarned = false;

  /** `onProblem` is called once for a series of failed writes. They are no failure of the turn, because the store has the nodes. */
  constructor(openFile: () => Promise<Transcript | null>, onProblem: (message: string) => void) {
    this.#openFile = openFile;
    this.#onProblem = onProblem;
  }

  /** Opens the file at the first call. Throws if that fails; the next call tries again. */
  open(): Promise<void> {
    return (this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    }));
  }

  /** Like `open`, for a turn that already runs: a failure is only a problem. */
  async openLate(): Promise<void> {
    await this.open().catch((error: unknown) => this.#warn(error));
  }

  /** Null before it is open, and for a session without a transcript. */
  get path(): string | null {
    return this.#file?.path ?? null;
  }

  append(node: Node): void {
    this.#unwritten.push(node);
    this.#write();
  }

  /** A later call of `open` does nothing: the session's lease may then belong to another process. */
  async close(): Promise<void> {
    await (this.#opening ??= Promise.resolve()).catch(() => undefined);
    this.#file?.close();
  }

  async #open(): Promise<void> {
    this.#file = await this.#openFile();
    // The store had these nodes when the file was opened, so the file has them.
    const lastId = this.#file?.last?.id;
    this.#unwritten = this.#unwritten.slice(this.#unwritten.findLastIndex(({ id }) => id === lastId) + 1);
    this.#write();
  }

  #write(): void {
    if (this.#file === null) return;
    try {
      for (let node = this.#unwritten[0]; node !== undefined; node = this.#unwritten[0]) {
        this.#file.append(node);
        this.#unwritten.shift();
      }
      this.#isWarned = false;
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    if (!this.#isWarned) this.#onProblem(`the transcript could not be written: ${messageOf(error)}`);
    this.#isWarned = true;
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
  const { catchUp, Transcript } = await import("../../store/transcript.ts");
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
