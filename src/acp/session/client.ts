// The client of one connection, as the sessions see it. Methods that the client did not advertise are never called.
import {
  CreateElicitationResponse,
  type AgentContext,
  type ClientCapabilities,
  type PermissionOption,
  type SessionUpdate,
  type ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { kindOf, toolCallId } from "../updates/tool-calls.ts";

export type Client = {
  /** Whether the client can show a form with a free text. */
  canElicit: () => boolean;
  hasNotices: () => boolean;
  /** Resolves when the client has room for more. Rejects if the connection is closed. */
  update: (session: string, update: SessionUpdate) => Promise<void>;
  /** Resolves with the answer; null if the user gave none, or if the client can't ask this question. */
  ask: (session: string, ask: Ask, signal: AbortSignal) => Promise<string | null>;
};

type ClientDeps = { context: () => AgentContext; capabilities: () => ClientCapabilities; log: (line: string) => void };

export function createClient({ context, capabilities, log }: ClientDeps): Client {
  const canElicit = () => capabilities().elicitation?.form !== undefined && capabilities().elicitation?.form !== null;
  return {
    canElicit,
    hasNotices: () => capabilities().session?.notices !== undefined && capabilities().session?.notices !== null,
    update: (sessionId, update) => context().notify("session/update", { sessionId, update }),
    async ask(session, ask, signal) {
      try {
        if (canElicit()) return await elicit(context(), session, ask, signal);
        return ask.options.length === 0 ? null : await requestChoice(context(), session, ask, signal);
      } catch (error) {
        // The question was answered elsewhere, or the client could not show it. Another front end can still answer it.
        if (!signal.aborted) log(`the client could not ask a question: ${messageOf(error)}`);
        return null;
      }
    },
  };
}

const own = "own words";

/** A form with the suggested answers as a choice, and a text for any other answer. */
async function elicit(context: AgentContext, sessionId: string, ask: Ask, signal: AbortSignal): Promise<string | null> {
  const { question, options } = ask;
  const answer = { type: "string" as const, title: options.length === 0 ? "Answer" : "Or your own words" };
  const choice = { type: "string" as const, title: "Answer", enum: [...options] };
  const response = await context.request(
    "elicitation/create",
    {
      mode: "form",
      sessionId,
      ...(ask.call === null ? {} : { toolCallId: toolCallId(ask.turn, ask.call) }),
      message: question,
      requestedSchema: {
        type: "object",
        properties: options.length === 0 ? { answer } : { choice, answer },
        required: options.length === 0 ? ["answer"] : [],
      },
    },
    { cancellationSignal: signal, stopWaitingOnCancel: true },
  );
  if (!CreateElicitationResponse.isAccept(response)) return null;
  const texts = [response.content?.["answer"], response.content?.["choice"]];
  return texts.find((text): text is string => typeof text === "string" && text.trim() !== "") ?? null;
}

/** A permission request is the only question of the protocol that every client can show. */
async function requestChoice(context: AgentContext, sessionId: string, ask: Ask, signal: AbortSignal): Promise<string | null> {
  const toolCall: ToolCallUpdate = {
    toolCallId: ask.call === null ? `question-${ask.id}` : toolCallId(ask.turn, ask.call),
    title: oneLine(ask.question, 300),
    kind: kindOf("ask_user"),
    status: "pending",
    content: [{ type: "content", content: { type: "text", text: ask.question } }],
  };
  const options = ask.options.map((name, index): PermissionOption => ({ optionId: String(index), name, kind: "allow_once" }));
  options.push({ optionId: own, name: "Answer in the chat", kind: "reject_once" });
  const { outcome } = await context.request(
    "session/request_permission",
    { sessionId, toolCall, options },
    { cancellationSignal: signal, stopWaitingOnCancel: true },
  );
  if (outcome.outcome !== "selected" || outcome.optionId === own) return null;
  return ask.options[Number(outcome.optionId)] ?? null;
}
