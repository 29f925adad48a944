// Lists and answers questions to the user. Any front end may answer; a question is closed once.
// src/engine/turn/ask-person.ts opens them.
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { EngineDeps } from "../engine.ts";
import { callOwner } from "./owner.ts";
import { withLease } from "../tree/tree-ops.ts";

export async function listAsks(deps: EngineDeps, { session }: Parameters<Api["ask"]["list"]>[0]): Promise<Ask[]> {
  if (!deps.hasStore()) return [];
  return (await (await deps.store()).asks(session)).filter((ask) => ask.closedAt === null);
}

export async function answerAsk(deps: EngineDeps, params: Parameters<Api["ask"]["answer"]>[0]): Promise<Ask> {
  if (!deps.hasStore())
    throw new Fault("ask-unknown", `There is no question "${params.ask}".`, { hint: "`skein asks` lists open questions." });
  const ask = await (await deps.store()).findAsk(params.ask);
  if (ask.closedAt !== null) throw new Fault("ask-closed", `the question ${params.ask} is already closed`);
  const answer = chosenOption(ask, params.text);
  return callOwner(deps, ask.session, {
    local: async (turn) => {
      const closed = await turn.recorder.closeAsk(ask.id, { outcome: "answered", answer });
      turn.asking.get(ask.id)?.(answer);
      return closed;
    },
    remote: (api) => api.ask.answer({ ask: ask.id, text: answer }),
    idle: () => withLease(deps, ask.session, (_store, recorder) => recorder.closeAsk(ask.id, { outcome: "answered", answer })),
  });
}

/** A number chooses an option, if there is one of that number. */
function chosenOption({ options }: Ask, text: string): string {
  const trimmed = text.trim();
  if (trimmed === "") throw new Fault("usage", "the answer is empty");
  return /^\d+$/.test(trimmed) ? (options[Number(trimmed) - 1] ?? trimmed) : text;
}
