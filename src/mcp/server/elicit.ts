// A question to the person in front of the client: as a request within the call in the older protocol; in the newer one
// the call ends with the question, and the client calls again with the answer and where it was.
import { acceptedContent, inputRequired, type InputRequiredResult, type ServerContext } from "@modelcontextprotocol/server";
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { ClientInfo } from "./caller.ts";
import { collectTurn } from "../turn/collect-turn.ts";
import type { ToolAnswer, Elicitation, PendingAsk, CallContext } from "../tools/tool.ts";
import type { TurnOutput } from "../turn/turn-answer.ts";

/** A person may take long; the turn itself stops waiting before that. */
const dayMs = 86_400_000;

export function elicitationFor(
  { can }: ClientInfo,
  era: "legacy" | "modern",
  { mcpReq }: ServerContext,
  log: (line: string) => void,
): Elicitation | null {
  if (can.elicitation === undefined) return null;
  if (era === "modern") return { how: "between" };
  return {
    how: "now",
    async put(ask, signal) {
      try {
        const { action, content } = await mcpReq.elicitInput(formOf(ask), { signal, timeout: dayMs });
        return action === "accept" ? answerIn(content) : null;
      } catch (error) {
        // It was answered elsewhere, or the client could not show it: then it waits for another door.
        if (!signal.aborted) log(`the client did not take a question: ${error instanceof Error ? error.message : String(error)}`);
        return null;
      }
    },
  };
}

function formOf({ question, options }: Ask) {
  const choices = options.map((option, at) => `\n${at + 1}. ${option}`).join("");
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

function answerIn(content: Record<string, unknown> | undefined): string | null {
  const answer = content?.["answer"];
  return typeof answer === "string" && answer.trim() !== "" ? answer : null;
}

/** Ends a call with the question. */
export function endCallWithQuestion({ ask, session, seq }: PendingAsk): InputRequiredResult {
  return inputRequired({
    inputRequests: { answer: inputRequired.elicit(formOf(ask)) },
    requestState: JSON.stringify({ session, seq, ask: ask.id }),
  });
}

type Round = { session: string; seq: number; ask: string };

/** Where a call that ended with a question stood; null for one that begins. */
export function readRound({ mcpReq }: ServerContext): Round | null {
  const state = mcpReq.requestState<string>();
  if (typeof state !== "string") return null;
  const { session, seq, ask } = parsed(state);
  if (typeof session === "string" && typeof seq === "number" && typeof ask === "string") return { session, seq, ask };
  throw new Fault("usage", "requestState is not what this server gave");
}

function parsed(state: string): Record<string, unknown> {
  try {
    return (JSON.parse(state) ?? {}) as Record<string, unknown>;
  } catch (error) {
    throw new Fault("usage", "requestState is not what this server gave", { cause: error });
  }
}

/** Goes on with the turn that asked. Whoever gives no answer is not asked again in this call. */
export async function resumeRound(round: Round, { mcpReq }: ServerContext, ctx: CallContext): Promise<ToolAnswer<TurnOutput>> {
  const answer = answerIn(acceptedContent(mcpReq.inputResponses, "answer"));
  if (answer !== null) await answerOnce(ctx.api, round.ask, answer);
  const session = await ctx.api.session.find({ wanted: round.session, directory: ctx.directory });
  const caller = answer === null ? { ...ctx.caller, asks: null } : ctx.caller;
  const limitMs = caller.timeoutMs;
  return collectTurn(session, { limitMs, afterSeq: round.seq, onCancel: "stop" }, { ...ctx, caller });
}

async function answerOnce(api: Api, ask: string, text: string): Promise<void> {
  try {
    await api.ask.answer({ ask, text });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "ask-closed") throw error; // somebody was faster
  }
}
