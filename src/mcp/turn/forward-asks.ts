// Forwards the questions of a turn to the client's user while the turn waits. If another front end
// answers first, the question is withdrawn. Without an answer the question stays open; skein never invents an answer.
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Elicitation, Caller } from "../tools/tool.ts";

type AskUser = Extract<Elicitation, { how: "during the call" }>["askUser"];

export type AskForwarder = {
  /** Call it for every question that the turn opens. Resolves with true if the call must end with this question. */
  onOpened: (ask: Ask) => Promise<boolean>;
  /** Call it for every question that was answered or has expired. */
  onClosed: (ask: Ask) => void;
  /** Withdraws all forwarded questions. */
  close: () => void;
};

export function createAskForwarder(api: Api, { elicitation }: Caller): AskForwarder {
  /** Aborting a controller withdraws its question from the client. */
  const forwarded = new Map<string, AbortController>();
  return {
    async onOpened(ask) {
      if (elicitation === null || forwarded.has(ask.id) || !(await isTurnWaiting(api, ask))) return false;
      if (elicitation.how === "end the call") return true;
      const controller = new AbortController();
      forwarded.set(ask.id, controller);
      void forwardAnswer(api, ask, elicitation.askUser, controller.signal);
      return false;
    },
    onClosed: ({ id }) => forwarded.get(id)?.abort(),
    close() {
      for (const controller of forwarded.values()) controller.abort();
    },
  };
}

/** A question without a time limit has already ended its turn, so the answer of the turn reports it. An expired question needs no answer. */
async function isTurnWaiting(api: Api, { id, session, expiresAt }: Ask): Promise<boolean> {
  return expiresAt !== null && expiresAt > Date.now() && (await api.ask.list({ session })).some((ask) => ask.id === id);
}

async function forwardAnswer(api: Api, ask: Ask, askUser: AskUser, signal: AbortSignal): Promise<void> {
  try {
    const text = await askUser(ask, signal);
    if (text !== null) await api.ask.answer({ ask: ask.id, text });
  } catch (error) {
    // Another front end was faster, or the connection is lost. Following the turn shows which.
    if (!(error instanceof Fault)) throw error;
  }
}
