// Starts a turn in the hub and returns its id. The turn runs on without a reader; its events arrive by following the session.
import type { PromptResponse } from "@agentclientprotocol/sdk";
import type { Api, TurnStartParams } from "../../protocol/api/api.ts";
import { Fault, type TurnStatus } from "../../protocol/api/error.ts";
import { configuredPolicy, configuredTurn } from "../../protocol/api/turn-options.ts";
import type { McpServerEntries } from "../../protocol/mcp/server-entry.ts";
import type { DurableEvent } from "../../protocol/tree/event.ts";
import type { ImageData } from "../../protocol/tree/node.ts";
import { turnFailure } from "../server/request-errors.ts";
import { turnAgent, type Choices } from "./config-options.ts";

export type TurnEnded = Extract<DurableEvent, { type: "turn.ended" }>;

export type TurnTask = { prompt: string | null; images: ImageData[]; compact?: true };

type TurnSetup = {
  session: string;
  choices: Choices;
  addDirs: string[];
  /** Servers that the client named, beside those of the configuration. */
  mcpServers: McpServerEntries;
  canWaitForAnswers: boolean;
};

/** A client without elicitation can't answer every question, so its turns end with a question instead of waiting. */
export async function turnParams(api: Api, task: TurnTask, setup: TurnSetup): Promise<TurnStartParams> {
  const settings = await api.config.values();
  const policy = { ...configuredPolicy(settings, setup.choices.policy), addDirs: setup.addDirs };
  const asks: TurnStartParams["asks"] = setup.canWaitForAnswers ? { how: "wait", limitMs: settings.askTimeoutMs } : { how: "later" };
  const { session, mcpServers } = setup;
  return { ...configuredTurn(settings), ...turnAgent(setup.choices), ...task, policy, asks, mcpServers, session };
}

export async function startTurn(api: Api, params: TurnStartParams): Promise<string> {
  for await (const event of api.turn.start(params)) if (event.type === "turn.started") return event.turnId;
  throw new Fault("internal", "the turn ended before it had started");
}

/** A stopped turn reports its end itself. One that waits for a limit has not started: it is withdrawn, and the result is true. */
export async function stopTurn(api: Api, session: string, turn: string): Promise<boolean> {
  try {
    const pending = await api.turn.pending({ session });
    if (pending.some(({ id }) => id === turn) && (await api.turn.withdraw({ pending: turn })) !== null) return true;
    await api.turn.cancel({ session });
  } catch (error) {
    // The turn has ended meanwhile, or the connection is lost. Following the session shows which.
    if (!(error instanceof Fault)) throw error;
  }
  return false;
}

const stopReasons: Partial<Record<TurnStatus, PromptResponse["stopReason"]>> = {
  ok: "end_turn",
  "needs-input": "end_turn",
  cancelled: "cancelled",
  "too-long": "max_tokens",
  refused: "refusal",
};

/** Throws for a turn that failed. */
export function stopReasonOf({ turn }: TurnEnded): PromptResponse["stopReason"] {
  const { status, error } = turn;
  const reason = status === null ? undefined : stopReasons[status];
  if (reason !== undefined) return reason;
  if (error?.limit === "steps") return "max_turn_requests";
  throw turnFailure(error ?? { kind: status ?? "broken", message: `the turn ended: ${status ?? "without a status"}` });
}
