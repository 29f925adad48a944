// Lists and answers questions to the user. Any front end may answer; a question is closed once.
// src/engine/turn/ask-person.ts opens them.
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { EngineDeps } from "../engine.ts";
import { callOwner } from "./owner.ts";
import { withLease } from "../tree/tree-ops.ts";

/** Options come from models and may be long. */
const maxLabelBytes = 60;

export async function listAsks(deps: EngineDeps, { session }: Parameters<Api["ask"]["list"]>[0]): Promise<Ask[]> {
  if (!deps.hasStore()) return [];
  return (await (await deps.store()).asks(session)).filter((ask) => ask.closedAt === null);
}

export async function answerAsk(deps: EngineDeps, params: Parameters<Api["ask"]["answer"]>[0]): Promise<Ask> {
  if (!deps.hasStore())
    throw new Fault("ask-unknown", `there is no question "${params.ask}"`, { hint: "`skein asks` lists open questions" });
  const ask = await (await deps.store()).findAsk(params.ask);
  if (ask.closedAt !== null) throw new Fault("ask-closed", `the question ${params.ask} is already closed`);
  const answer = chosenOption(ask, params.text);
  return callOwner(deps, ask.session, {
    local: async (turn) => {
      const closed = await turn.recorder.closeAsk(ask.id, { outcome: "answered", answer });
      turn.asking.get(ask.id)?.(answer);
      return closed;
    },
    remote: (api) => api.ask.answer({ ask: ask.id, text: params.text }),
    idle: () => withLease(deps, ask.session, (_store, recorder) => recorder.closeAsk(ask.id, { outcome: "answered", answer })),
  });
}

/** A number chooses an option. The text of an option is an answer too, even if it is a number. */
function chosenOption({ id, options }: Ask, text: string): string {
  const trimmed = text.trim();
  if (trimmed === "") throw new Fault("usage", "the answer is empty");
  if (!/^[+-]?\d+$/.test(trimmed) || options.length === 0) return text;
  const option = /^\d+$/.test(trimmed) ? options[Number(trimmed) - 1] : undefined;
  if (option !== undefined) return option;
  if (options.includes(trimmed)) return trimmed;
  const numbers = options.map((label, index) => `${index + 1} (${oneLine(label, maxLabelBytes)})`).join(", ");
  throw new Fault("usage", `the question ${shortId(id)} has no option ${trimmed}`, {
    hint: `the options are ${numbers}; or answer in words`,
  });
}
