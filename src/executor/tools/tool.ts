// What a tool is: a definition for the model and one function. A failure is an outcome, never an exception.
import type { PauseGate } from "../../kit/flow/pause-gate.ts";
import type { SandboxInfo, Denial } from "../../protocol/api/policy.ts";
import type { ToolDefinition, ToolOutcome } from "../../protocol/api/ports.ts";
import type { ResourceLimits } from "../limits.ts";

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
  envTag: string;
  /** The walls around this process, to be explained; null when there are none to speak of. */
  sandbox: SandboxInfo | null;
  limits: ResourceLimits | null;
  signal: AbortSignal;
  /** Shut while the call is to stand still. */
  gate?: PauseGate;
  /** Output waits while a returned promise is pending. */
  onOutput: (chunk: Uint8Array) => void | Promise<void>;
};

export function errorOutcome(text: string): ToolOutcome {
  return { text, isError: true };
}

/** A failure that the person should see as what it is. */
export function deniedOutcome(what: Denial["what"], text: string): ToolOutcome {
  return { text, isError: true, denied: [{ what, text }] };
}
