// The types that all tools share, and their outcomes for failures.
import type { PauseGate } from "../../kit/flow/pause-gate.ts";
import type { OutputStream } from "../../kit/process/output-reader.ts";
import type { SandboxInfo, Denial } from "../../protocol/api/policy.ts";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import type { ResourceLimits } from "../limits.ts";

/** Runs one call. `input` has been checked against the definition. A failure is an outcome, not an exception. */
export type RunTool = (input: Record<string, unknown>, ctx: ToolContext) => Promise<ToolOutcome>;

export type ToolContext = {
  cwd: string;
  home: string;
  /** The complete environment of the processes that the tool starts. */
  env: Record<string, string>;
  /** `NAME=value`: the entry of `env` that identifies processes of this call. */
  envTag: string;
  /** The sandbox of this process, to explain failures; null if there is none. */
  sandbox: SandboxInfo | null;
  limits: ResourceLimits | null;
  signal: AbortSignal;
  /** Paused while the session of the call is paused. */
  gate?: PauseGate;
  /** True tells stdout from stderr. Else all output counts as stdout, in the order in which it was written. */
  separateStreams?: boolean;
  /** No more output is read while a returned promise is pending. */
  onOutput: (chunk: Uint8Array, stream: OutputStream) => void | Promise<void>;
};

export function errorOutcome(text: string): ToolOutcome {
  return { text, isError: true };
}

/** A failure that the user sees as a denial, not as an error of the command. */
export function deniedOutcome(what: Denial["what"], text: string): ToolOutcome {
  return { text, isError: true, denied: [{ what, text }] };
}
