// What a test tells the scripted model server: the answers it plays and the ways it misbehaves. Data only.
import type { JsonObject } from "./json.ts";

export type Script = {
  /** One per assistant answer; after the last one comes `final`. */
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

/** "shell" (the default) becomes whatever shell tool the client declared; any other name is sent as it is. */
export type ScriptCall = { name?: string; input: JsonObject };

/** `input` never contains the cached tokens. */
export type TokenCounts = { input: number; output: number; cacheRead: number; cacheWrite: number };

export type ServerFault =
  | { type: "status"; status: number; retryAfter?: string; message?: string }
  /** The connection is reset after so many events (default: half of the answer). */
  | { type: "drop"; afterEvents?: number }
  /** Silence after so many events (default: half of the answer), until the client goes or the server stops. */
  | { type: "stall"; afterEvents?: number }
  /** The stream carries the vendor's own error event after so many events (default: half of the answer). */
  | { type: "error-event"; afterEvents?: number; message?: string }
  /** Tool arguments that are no JSON (Gemini: its finish reason for a malformed call). */
  | { type: "garbage-args" }
  /** A well-formed answer with nothing in it. */
  | { type: "empty" }
  | { type: "slow"; delayMs: number };

export function shellScript(commands: string[], final = "done"): Script {
  return { steps: commands.map((command) => ({ calls: [{ input: { command } }] })), final };
}
