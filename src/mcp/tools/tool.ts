// The type of a tool: its data and one function. The server derives the tool list, the input check and errors from it.
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import type { OutputOf } from "../../protocol/schema/fields.ts";
import { teamToolSchemas } from "../../protocol/schema/mcp-team.ts";
import { coreToolSchemas } from "../../protocol/schema/mcp.ts";

export type Toolset = "core" | "team";

const toolSchemas = { ...coreToolSchemas, ...teamToolSchemas };
type ToolName = keyof typeof toolSchemas;
export type ToolInput<Name extends ToolName> = OutputOf<(typeof toolSchemas)[Name]["input"]>;
type ToolOutput<Name extends ToolName> = OutputOf<(typeof toolSchemas)[Name]["output"]>;

type ToolDefinition<Name extends ToolName> = {
  /** Describes when to call the tool. Keep it short, because every model reads it in every conversation. */
  description: string;
  /** True if the tool changes nothing, so that a client need not ask its user. */
  readOnly?: boolean;
  run: (input: ToolInput<Name>, ctx: CallContext) => Promise<ToolAnswer<ToolOutput<Name>>>;
};

/** A tool with its schemas, which are found by its name. */
export function tool<Name extends ToolName>(name: Name, definition: ToolDefinition<Name>) {
  return { name, ...toolSchemas[name], ...definition };
}

/** `output` is for clients that read structured results, `text` has the same content for the others. */
export type ToolAnswer<Out> = { output: Out; text: string; isError?: boolean; pendingAsk?: PendingAsk };

/** A question that the caller must answer before the call can continue. */
export type PendingAsk = { ask: Ask; session: string; seq: number };

export type CallContext = {
  api: Api;
  /** The working directory of agents, absolute. */
  directory: string;
  /** The project of the directory, absolute. Session names belong to it. */
  project: string;
  caller: Caller;
};

export type Caller = {
  /** Aborted when the call is cancelled and when the client disconnects. */
  signal: AbortSignal;
  /** True if the client disconnected. That alone must not stop a turn. */
  isDisconnected: () => boolean;
  /** Time limit of the call; null is no limit. */
  timeoutMs: number | null;
  /** Sends a progress notification; null if the client requested none. */
  progress: ((message: string) => void) | null;
  /** How to ask the client's user; null if the client can't. */
  elicitation: Elicitation | null;
  /** The span of the call, if the client named one. */
  trace: { traceparent?: string };
};

export type Elicitation =
  /** Resolves with null if the user does not answer. */
  | { how: "during the call"; askUser: (ask: Ask, signal: AbortSignal) => Promise<string | null> }
  /** The call ends with the question, and the client calls again with the answer. */
  | { how: "end the call" };
