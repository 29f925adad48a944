// The types of one request to one model and of its answer. An error of a server or of the network is never thrown:
// it is the last event of the stream.
import type { TurnError } from "../protocol/api/error.ts";
import type { Part } from "../protocol/tree/node.ts";
import type { ToolDefinition } from "../protocol/api/ports.ts";
import type { WireName } from "../protocol/api/wire-name.ts";
import type { Usage } from "../protocol/tree/usage.ts";

export type { WireName };

export type Effort = "low" | "medium" | "high" | "xhigh";

/** Parts as in the tree. Consecutive messages of one role are allowed. Results have the role "tool". */
export type Message = { role: "user" | "assistant" | "tool"; parts: Part[] };

export type ModelRequest = {
  /** The vendor's id of the model, without vendor and effort. */
  model: string;
  effort: Effort | null;
  system: string;
  tools: ToolDefinition[];
  messages: Message[];
  /** The same for every request of a session: some vendors route by it to a warm cache. */
  cacheKey: string;
  maxOutputTokens: number | null;
  /** Missing or null for the vendor's default. */
  temperature?: number | null;
  /** The same object for all requests of a turn. Missing writes the request without the text of an earlier one. */
  kept?: KeptRequest;
};

/** The state of a wire between two requests. Only the wire reads and changes it. */
export type KeptRequest = { items: KeptItems | null };

export type KeptItems = {
  /** The wire, the vendor and the model that the text was written for. */
  key: string;
  /** The messages that the text has. They must not change. */
  messages: Message[];
  text: string;
  /** Notes of the wire about these messages. */
  ids: Set<string>;
};

export type StopReason = "end" | "calls" | "length" | "refused";

export type ModelEvent =
  | { type: "text.delta"; text: string }
  | { type: "thinking.delta"; text: string }
  /** A tool call was announced. Its arguments are complete only in `done`. */
  | { type: "call.started"; call: string; name: string }
  /** The request will be sent again after `waitMs`; `attempt` 1 is the first retry. No delta precedes it. */
  | { type: "retry"; attempt: number; waitMs: number; error: TurnError }
  /** The request waits before it is sent, because the configured rate limit is reached. */
  | { type: "warning.raised"; message: string }
  | { type: "done"; parts: Part[]; usage: Usage; stop: StopReason }
  /** `parts` and `usage` are those that had arrived before the failure. */
  | { type: "failed"; error: TurnError; parts: Part[]; usage: Usage };

/** The address and key for requests. `endpointFor` builds it from the vendor table, the environment and the configuration. */
export type Endpoint = {
  vendor: string;
  wire: WireName;
  baseUrl: string;
  /** Empty for local servers. */
  apiKey: string;
  headers: Record<string, string>;
};

/** A vendor's API: writes requests and reads streams. Pure functions; stream.ts uses the network. */
export type Wire = {
  name: WireName;
  request: (request: ModelRequest, endpoint: Endpoint) => { url: string; headers: Record<string, string>; body: string };
  /** Creates the reader of one response. */
  reader: (model: string) => WireReader;
};

export type WireReader = {
  /** Reads one server-sent event. A returned "failed" is the last event. */
  push: (event: ServerEvent) => WireEvent[];
  /** Call it after the last byte. Null if the stream stopped before its end. */
  finish: () => { parts: Part[]; usage: Usage; stop: StopReason } | null;
  /** The parts so far, without a call whose arguments are incomplete. */
  partial: () => { parts: Part[]; usage: Usage };
  /** Whether the vendor's last event has arrived. The connection need not close then. */
  ended: () => boolean;
};

export type ServerEvent = { event: string; data: string };

export type WireEvent =
  | Extract<ModelEvent, { type: "text.delta" | "thinking.delta" | "call.started" }>
  | { type: "failed"; problem: VendorError };

/** An error of a vendor before it is classified, from an error response or from a stream. */
export type VendorError = {
  status: number | null;
  /** The vendor's error code: `overloaded_error`, `insufficient_quota`, `RESOURCE_EXHAUSTED`. */
  code: string;
  message: string;
  /** The wait that the server requested. */
  retryAfterMs?: number;
  /** The end of the limit, in milliseconds since 1970. */
  resetAt?: number;
};
