// Asks the user of the client a question (elicitation). In the older protocol this is a request during the call. In the newer
// one the call ends with the question. The client then calls again with the answer and the state of the first call.
import { acceptedContent, inputRequired, type InputRequiredResult, type ServerContext } from "@modelcontextprotocol/server";
import { parseJson } from "../../kit/text/json.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { ClientInfo } from "./caller.ts";
import { collectTurn } from "../turn/take-turn.ts";
import type { ToolAnswer, Elicitation, PendingAsk, CallContext } from "../tools/tool.ts";
import type { TurnOutput } from "../turn/turn-answer.ts";

/** One day. The turn itself stops waiting earlier. */
const answerTimeoutMs = 86_400_000;

type ElicitationOptions = {
  /** The SDK's word for the older and the newer protocol. */
  era: "legacy" | "modern";
  request: ServerContext;
  log: (line: string) => void;
};

/** Null if the client can't ask its user. */
export function createElicitation({ capabilities }: ClientInfo, { era, request, log }: ElicitationOptions): Elicitation | null {
  if (capabilities.elicitation === undefined) return null;
  if (era === "modern") return { how: "end the call" };
  return {
    how: "during the call",
    async askUser(ask, signal) {
      try {
        const { action, content } = await request.mcpReq.elicitInput(formOf(ask), { signal, timeout: answerTimeoutMs });
        return action === "accept" ? answerOf(content) : null;
      } catch (error) {
        // The question was answered elsewhere, or the client could not show it. Another front end can still answer it.
        if (!signal.aborted) log(`the client could not ask a question: ${messageOf(error)}`);
        return null;
      }
    },
  };
}

function formOf({ question, options }: Ask) {
  const choices = options.map((option, index) => `\n${index + 1}. ${option}`).join("");
  return {
    mode: "form" as const,
    message: `${question}${choices}`,
    requestedSchema: {
      type: "object" as const,
      properties: { answer: { type: "string" as const, title: options.length === 0 ? "Answer" : "A number, or your own words" } },
      required: ["answer"],
    },
  };
}

function answerOf(content: Record<string, unknown> | undefined): string | null {
  const answer = content?.["answer"];
  return typeof answer === "string" && answer.trim() !== "" ? answer : null;
}

export function endCallWithQuestion({ ask, session, seq }: PendingAsk): InputRequiredResult {
  return inputRequired({
    inputRequests: { answer: inputRequired.elicit(formOf(ask)) },
    requestState: JSON.stringify({ session, seq, ask: ask.id }),
  });
}

/** A call that ended with a question. The client sends this state back with the answer. */
type SuspendedCall = { session: string; seq: number; ask: string };

/** Null for a call that does not continue an earlier one. */
export function readSuspendedCall({ mcpReq }: ServerContext): SuspendedCall | null {
  const state = mcpReq.requestState<string>();
  if (typeof state !== "string") return null;
  const { session, seq, ask } = parseJson(state) ?? {};
  if (typeof session === "string" && typeof seq === "number" && typeof ask === "string") return { session, seq, ask };
  throw new Fault("usage", "requestState was not created by this server");
}

/** Sends the answer and follows the turn that asked. A user who gave no answer is not asked again in this call. */
export async function resumeCall(call: SuspendedCall, { mcpReq }: ServerContext, ctx: CallContext): Promise<ToolAnswer<TurnOutput>> {
  const answer = answerOf(acceptedContent(mcpReq.inputResponses, "answer"));
  if (answer !== null) await answerUnlessClosed(ctx.api, call.ask, answer);
  const session = await ctx.api.session.find({ wanted: call.session, directory: ctx.directory });
  const caller = answer === null ? { ...ctx.caller, elicitation: null } : ctx.caller;
  return collectTurn(session, { limitMs: caller.timeoutMs, afterSeq: call.seq, onCancel: "stop" }, { ...ctx, caller });
}

async function answerUnlessClosed(api: Api, ask: string, text: string): Promise<void> {
  try {
    await api.ask.answer({ ask, text });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "ask-closed") throw error; // Another front end was faster.
  }
}
