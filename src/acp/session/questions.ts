// Forwards the questions of running turns to the client's user. A question that another front end answers is withdrawn.
// Without an answer a question stays open; skein never invents an answer.
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { Client } from "./client.ts";

export class Questions {
  /** Aborting a controller withdraws its question from the client. */
  readonly #shown = new Map<string, AbortController>();
  readonly #session: string;
  readonly #client: Client;
  readonly #log: (line: string) => void;

  constructor(session: string, client: Client, log: (line: string) => void) {
    this.#session = session;
    this.#client = client;
    this.#log = log;
  }

  /** Asks the user while the turn waits. A question without a time limit has ended its turn, so it is asked after the turn. */
  onOpened(api: Api, ask: Ask): void {
    if (ask.expiresAt === null || ask.expiresAt <= Date.now() || this.#shown.has(ask.id)) return;
    // The question stays open: another front end or `skein answer` can answer it.
    this.ask(api, ask).catch((error: unknown) => this.#log(`the question could not be answered: ${messageOf(error)}`));
  }

  onClosed({ id }: Ask): void {
    this.#shown.get(id)?.abort();
    this.#shown.delete(id);
  }

  /** Resolves with true if the user has answered. */
  async ask(api: Api, ask: Ask): Promise<boolean> {
    const controller = new AbortController();
    this.#shown.set(ask.id, controller);
    try {
      const text = await this.#client.ask(this.#session, ask, controller.signal);
      if (text === null) return false;
      await api.ask.answer({ ask: ask.id, text });
      return true;
    } catch (error) {
      // Another front end was faster, or the connection is lost. Following the session shows which.
      if (!(error instanceof Fault)) throw error;
      return false;
    } finally {
      if (this.#shown.get(ask.id) === controller) this.#shown.delete(ask.id);
    }
  }

  /** Withdraws all questions. */
  close(): void {
    for (const controller of this.#shown.values()) controller.abort();
    this.#shown.clear();
  }
}
