// Questions of a turn put to the person in front of the caller, while the turn waits. An answer from elsewhere takes
// the question back; who does not answer leaves it to others. No answer is invented.
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Elicitation, Caller } from "../tools/tool.ts";

type PutQuestion = Extract<Elicitation, { how: "now" }>["put"];

export type AskForwarder = {
  /** `between`: the caller can only be asked by ending the call. */
  opened: (ask: Ask) => Promise<"between" | null>;
  closed: (ask: Ask) => void;
  leave: () => void;
};

export function createAskForwarder(api: Api, { elicitation: asks }: Caller): AskForwarder {
  const open = new Map<string, AbortController>();
  return {
    async opened(ask) {
      if (asks === null || open.has(ask.id) || !(await isWaitedFor(api, ask))) return null;
      if (asks.how === "between") return "between";
      const taken = new AbortController();
      open.set(ask.id, taken);
      void answerThrough(api, ask, asks.put, taken.signal);
      return null;
    },
    closed: ({ id }) => open.get(id)?.abort(),
    leave() {
      for (const taken of open.values()) taken.abort();
    },
  };
}

/** One without a time limit has ended its turn, and is told with it. One of long ago was answered. */
async function isWaitedFor(api: Api, { id, session, expiresAt }: Ask): Promise<boolean> {
  return expiresAt !== null && expiresAt > Date.now() && (await api.ask.list({ session })).some((ask) => ask.id === id);
}

async function answerThrough(api: Api, ask: Ask, put: PutQuestion, signal: AbortSignal): Promise<void> {
  try {
    const text = await put(ask, signal);
    if (text !== null) await api.ask.answer({ ask: ask.id, text });
  } catch (error) {
    // Somebody else was faster, or the connection is gone: whoever follows the turn sees which.
    if (!(error instanceof Fault)) throw error;
  }
}
