// The shape of a tool: a row of data and one function. The tool list, checking and errors come from the row.
import type { Api } from "../../protocol/api/api.ts";
import type { Ask } from "../../protocol/api/control.ts";
import type { Schema } from "../../protocol/schema/mcp.ts";

export type Toolset = "core" | "team";

export type McpTool<In, Out> = {
  name: string;
  /** Short, and says when to call it: every model reads it in every conversation. */
  description: string;
  input: Schema<In>;
  output: Schema<Out>;
  /** Changes nothing, so a client need not ask before it calls. */
  readOnly?: boolean;
  run: (input: In, ctx: CallContext) => Promise<ToolAnswer<Out>>;
};

/** What clients that read typed results get, and the same for those that read text. */
export type ToolAnswer<Out> = { output: Out; text: string; isError?: boolean; pendingAsk?: PendingAsk };

/** A question that the caller is to be asked before the same call goes on. */
export type PendingAsk = { ask: Ask; session: string; seq: number };

/** Where a call stands: the project it is about, and who waits for it. */
export type CallContext = {
  api: Api;
  /** Where agents work, and the project it belongs to; names of sessions are that project's. Both absolute. */
  directory: string;
  project: string;
  caller: Caller;
};

export type Caller = {
  /** Aborted when the call is cancelled, and when the caller is gone. */
  signal: AbortSignal;
  /** Which of the two it was. Who is gone has stopped nothing. */
  isDisconnected: () => boolean;
  /** How long it can be kept waiting; null is as long as it takes. */
  timeoutMs: number | null;
  /** Tells that something goes on; null when it does not listen. */
  progress: ((message: string) => void) | null;
  /** How the person in front of it can be asked; null when that can't be done. */
  elicitation: Elicitation | null;
};

/** Within the call, where no answer is null; or by ending the call with the question, and being called again. */
export type Elicitation = { how: "now"; put: (ask: Ask, signal: AbortSignal) => Promise<string | null> } | { how: "between" };

/** A row with its types checked against each other. */
export function tool<In, Out>(row: McpTool<In, Out>): McpTool<In, Out> {
  return row;
}
