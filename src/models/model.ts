// One request to one model: what goes in, what comes back. Never throws for what a server or a network does:
// a failure is the last event of the stream.
import type { TurnError } from "../protocol/api/error.ts";
import type { Part } from "../protocol/tree/node.ts";
import type { ToolDefinition } from "../protocol/api/ports.ts";
import type { WireName } from "../protocol/api/wire-name.ts";
import type { Usage } from "../protocol/tree/usage.ts";

export type { WireName };

export type Effort = "low" | "medium" | "high" | "xhigh";

/** Parts in the shape of the tree; consecutive messages of one role are allowed. Results have the role "tool". */
export type Message = { role: "user" | "assistant" | "tool"; parts: Part[] };

export type ModelRequest = {
  /** The vendor's own id, without vendor and effort. */
  model: string;
  effort: Effort | null;
  system: string;
  tools: ToolDefinition[];
  messages: Message[];
  /** Same for every request of a session, for vendors that route by it to a warm cache. */
  cacheKey: string;
  maxOutputTokens: number | null;
};

export type StopReason = "end" | "calls" | "length" | "refused";

export type ModelEvent =
  | { type: "text.delta"; text: string }
  | { type: "thinking.delta"; text: string }
  /** A tool call was announced; its arguments are whole only in `done`. */
  | { type: "call.started"; call: string; name: string }
  /** Before it is tried again: `attempt` 1 is the first retry. Nothing of the answer was shown before. */
  | { type: "retry"; attempt: number; waitMs: number; error: TurnError }
  | { type: "done"; parts: Part[]; usage: Usage; stop: StopReason }
  /** What had arrived by then is kept. */
  | { type: "failed"; error: TurnError; parts: Part[]; usage: Usage };

/** Where requests go and with what; made from the vendor table, the environment and the config by `house`. */
export type Endpoint = {
  vendor: string;
  wire: WireName;
  baseUrl: string;
  /** Empty for local servers. */
  apiKey: string;
  headers: Record<string, string>;
};

/** A wire: how a request is written and how a stream is read. Pure; the network is elsewhere. */
export type Wire = {
  name: WireName;
  request: (request: ModelRequest, endpoint: Endpoint) => { url: string; headers: Record<string, string>; body: string };
  /** One reader per response. */
  reader: (model: string) => WireReader;
};

export type WireReader = {
  /** One server-sent event; returns what it means. A "failed" is the last. */
  push: (event: ServerEvent) => WireEvent[];
  /** After the last byte: the message, or null when the stream stopped before its end. */
  finish: () => { parts: Part[]; usage: Usage; stop: StopReason } | null;
  /** What has arrived so far; a call is left out until its arguments are whole. */
  partial: () => { parts: Part[]; usage: Usage };
  /** Whether the vendor's own last event was seen: no need to wait for the connection to close. */
  ended: () => boolean;
};

export type ServerEvent = { event: string; data: string };

export type WireEvent =
  | Extract<ModelEvent, { type: "text.delta" | "thinking.delta" | "call.started" }>
  | { type: "failed"; problem: VendorError };

/** What a vendor said went wrong, before it is classified: in an error response or in mid-stream. */
export type VendorError = {
  status: number | null;
  /** The vendor's own word: `overloaded_error`, `insufficient_quota`, `RESOURCE_EXHAUSTED`. */
  code: string;
  message: string;
  /** How long the server asked us to wait. */
  retryAfterMs?: number;
};
