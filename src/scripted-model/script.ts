// Types for the script of the model server: its answers and its faults. Data only.
import type { JsonObject } from "./json.ts";

export type Script = {
  /** One per assistant answer. `final` follows the last one. */
  steps: ScriptStep[];
  final: string;
};

export type ScriptStep = {
  text?: string;
  thinking?: string;
  calls?: ScriptCall[];
  usage?: Partial<TokenCounts>;
  /** Wait before the first byte. */
  delayMs?: number;
};

/** "shell" (the default) becomes the shell tool that the client declared. Any other name is sent unchanged. */
export type ScriptCall = { name?: string; input: JsonObject };

/** `input` never contains the cached tokens. */
export type TokenCounts = { input: number; output: number; cacheRead: number; cacheWrite: number };

export type ServerFault =
  | { type: "status"; status: number; retryAfter?: string; message?: string }
  /** Resets the connection after this number of events (default: half of the answer). */
  | { type: "drop"; afterEvents?: number }
  /** Sends nothing after this number of events (default: half of the answer), until the client disconnects. */
  | { type: "stall"; afterEvents?: number }
  /** Sends the vendor's error event after this number of events (default: half of the answer). */
  | { type: "error-event"; afterEvents?: number; message?: string }
  /** Tool arguments that are not JSON. For Gemini: the finish reason of a malformed call. */
  | { type: "garbage-args" }
  /** A well-formed answer with nothing in it. */
  | { type: "empty" }
  | { type: "slow"; delayMs: number };

export function shellScript(commands: string[], final = "done"): Script {
  return { steps: commands.map((command) => ({ calls: [{ input: { command } }] })), final };
}
