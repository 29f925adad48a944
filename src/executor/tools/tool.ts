// What a tool is: a definition for the model and one function. A failure is an outcome, never an exception.
import type { Gate } from "../../kit/gate.ts";
import type { Bounds, Denial } from "../../protocol/policy.ts";
import type { ToolDefinition, ToolOutcome } from "../../protocol/ports.ts";
import type { Limits } from "../limits.ts";

export type Tool = {
  definition: ToolDefinition;
  /** The input has been checked against the definition. */
  run: (input: Record<string, unknown>, run: ToolRun) => Promise<ToolOutcome>;
};

export type ToolRun = {
  cwd: string;
  home: string;
  /** The whole environment of what the tool starts. */
  env: Record<string, string>;
  /** Entry of `env` by which processes of this call are found. */
  mark: string;
  /** The walls around this process, to be explained; null when there are none to speak of. */
  bounds: Bounds | null;
  limits: Limits | null;
  signal: AbortSignal;
  /** Shut while the call is to stand still. */
  gate?: Gate;
  /** Output waits while a returned promise is pending. */
  onOutput: (chunk: Uint8Array) => void | Promise<void>;
};

export function failure(text: string): ToolOutcome {
  return { text, isError: true };
}

/** A failure that the person should see as what it is. */
export function refusal(what: Denial["what"], text: string): ToolOutcome {
  return { text, isError: true, denied: [{ what, text }] };
}
