// Classifies the error messages of CLIs. This table has the messages of vendors and networks, which every CLI repeats.
// account-phrases.ts has those about the user's account; other messages of a single CLI are in its adapter.
import type { TurnStatus } from "../../../protocol/api/error.ts";
import { objectAt, parseJson, textAt } from "../../../models/wire/json.ts";
import { matchAccountPhrase } from "./account-phrases.ts";

export type FailurePattern = [RegExp, TurnStatus];

/** The first match wins. */
const patterns: FailurePattern[] = [
  [
    /(prompt|input|request) (is )?too (long|large)|maximum context|context[ _](length|window|size)|request_too_large|exceeds? the (context|maximum)|token count .{0,40}exceeds|ContextOverflow/i,
    "too-long",
  ],
  [
    /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|connection (error|refused|reset)|fetch failed|socket (hang up|connection was closed)|unable to connect|cannot connect to|network error|^terminated$|other side closed/i,
    "network",
  ],
  [
    /authentication_error|permission_error|invalid_api_key|UNAUTHENTICATED|PERMISSION_DENIED|(invalid|incorrect|no) (x-)?api[- ]key|api key not (valid|found)|invalid auth method|unauthorized/i,
    "auth",
  ],
  [
    /rate.?limit|RESOURCE_EXHAUSTED|too many requests|insufficient_quota|quota (exceeded|exhausted)|exhausted your|credit balance/i,
    "rate-limited",
  ],
  [/content_filter|content_policy|PROHIBITED_CONTENT|"?SAFETY"?\b|refused to answer|was blocked/, "refused"],
  [/not_found_error|model_not_found|NOT_FOUND|model.{0,80}not found|no such model/i, "broken"],
  [/overloaded|UNAVAILABLE|service unavailable|api_error|server_error|internal server error|"INTERNAL"|bad gateway/i, "overloaded"],
];

/** Classifies an error message; null if nothing matches. The patterns of the CLI win over the common ones, and these over phrases. */
export function matchFailure(message: string, cliPatterns: readonly FailurePattern[] = []): TurnStatus | null {
  const find = (table: readonly FailurePattern[]) => table.find(([pattern]) => pattern.test(message))?.[1];
  const kind = find(cliPatterns) ?? find(patterns) ?? matchAccountPhrase(message);
  if (kind !== null) return kind;
  const status = /(?:^|\bstatus(?: ?code)?["']?[: ]+|\bcode["']?[: ]+|\bHTTP[ /]*)([45]\d\d)\b/i.exec(message)?.[1];
  return status === undefined ? null : statusFailure(Number(status));
}

const statuses: Record<number, TurnStatus> = { 401: "auth", 403: "auth", 404: "broken", 413: "too-long", 429: "rate-limited" };

/** Classifies an error by the HTTP status of the vendor's answer. */
export function statusFailure(status: number): TurnStatus | null {
  return statuses[status] ?? (status >= 500 ? "overloaded" : null);
}

/** Replaces a vendor's JSON error body in `message` with the body's `message` field. Keeps the text before the body. */
export function plainMessage(message: string): string {
  const start = message.indexOf("{");
  const body = start === -1 ? null : parseJson(message.slice(start));
  const inner = body === null ? "" : innermostMessage(body);
  if (inner === "") return message.trim();
  const before = message.slice(0, start).trim().replace(/:$/, "");
  return before === "" ? inner : `${before}: ${inner}`;
}

function innermostMessage(body: Record<string, unknown>): string {
  const error = objectAt(body, "error") ?? body;
  const message = textAt(error, "message");
  const nested = message.startsWith("{") ? parseJson(message) : null;
  return nested === null ? message : innermostMessage(nested) || message;
}
