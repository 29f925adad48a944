// Forwards the questions of a turn to the client's user while the turn waits. An answer from another front end withdraws the
// question. Without an answer the question stays open for others; skein never makes one up.
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Elicitation, Caller } from "../tools/tool.ts";

type AskUser = Extract<Elicitation, { how: "now" }>["put"];

export type AskForwarder = {
  /** `between`: the call must end with this question. */
  opened: (ask: Ask) => Promise<"between" | null>;
  closed: (ask: Ask) => void;
  /** Withdraws all questions. */
  close: () => void;
};

export function createAskForwarder(api: Api, { elicitation }: Caller): AskForwarder {
  const open = new Map<string, AbortController>();
  return {
    async opened(ask) {
      if (elicitation === null || open.has(ask.id) || !(await isTurnWaiting(api, ask))) return null;
      if (elicitation.how === "between") return "between";
      const withdrawn = new AbortController();
      open.set(ask.id, withdrawn);
      void forwardAnswer(api, ask, elicitation.put, withdrawn.signal);
      return null;
    },
    closed: ({ id }) => open.get(id)?.abort(),
    close() {
      for (const withdrawn of open.values()) withdrawn.abort();
    },
  };
}

/** A question without a time limit has ended its turn, whose answer includes it. An expired one needs no answer. */
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
