// Reads the error response of a server: a body of any shape and size, and the wait that it requests.
import type { VendorError } from "./model.ts";
import { isRecord, type Json } from "../kit/text/json.ts";
import { isSubscriptionWindow, readWindows, resetOfUsedUp } from "./limits/read-windows.ts";
import { plausibleReset, resetFromBody } from "./limits/reset-time.ts";
import { resetFromWords } from "./limits/reset-words.ts";
import { listAt, objectAt, textAt } from "./wire/json.ts";

const maxBodyLength = 64 * 1024;
// Removing tags from text that only looks like a page takes quadratic time.
const maxMarkupLength = 8 * 1024;

export async function readVendorError(response: Response, now = Date.now()): Promise<VendorError> {
  const text = await readLimitedText(response);
  const error = parseError(text, now);
  return {
    status: response.status === 200 ? error.status : response.status,
    code: error.code,
    message: error.message || response.statusText,
    ...resetOf(response.headers, error, now),
  };
}

/**
 * The wait that the server requested, and the end of the limit. A used-up subscription ends later than its `retry-after`
 * may say. Otherwise `retry-after` counts before windows: Anthropic's windows end only when they are full again.
 */
function resetOf(
  headers: Headers,
  { resetAt: resetInBody, message }: VendorError,
  now: number,
): Pick<VendorError, "retryAfterMs" | "resetAt"> {
  const windows = readWindows(headers, now);
  const requested = retryAfter(headers, now);
  const subscription = resetOfUsedUp(windows.filter(isSubscriptionWindow));
  const requestedEnd = plausibleReset(requested === undefined ? undefined : now + requested, now);
  const resetAt = subscription ?? requestedEnd ?? resetOfUsedUp(windows) ?? resetInBody ?? resetFromWords(message, now);
  const waitMs = subscription === undefined ? (requested ?? (resetAt === undefined ? undefined : resetAt - now)) : subscription - now;
  return { ...(waitMs !== undefined && { retryAfterMs: waitMs }), ...(resetAt !== undefined && { resetAt }) };
}

/** Stops reading at the limit. Returns the text so far if the connection breaks. */
async function readLimitedText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (reader && text.length < maxBodyLength) {
      const { value, done } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    return text;
  }
  void reader?.cancel().catch(() => {});
  return text;
}

function parseError(text: string, now: number): VendorError {
  const body = parseObject(text);
  if (!body) {
    const isMarkup = text.trimStart().startsWith("<");
    const plain = isMarkup ? text.slice(0, maxMarkupLength).replace(/<(script|style)[\s\S]*?<\/\1>|<[^>]*>/gi, " ") : text;
    return { status: null, code: "", message: plain.trim().slice(0, 2000) };
  }
  const error = objectAt(body, "error") ?? body;
  const raw = textAt(objectAt(error, "metadata"), "raw");
  const detail = typeof body.detail === "string" ? body.detail : body.detail ? JSON.stringify(body.detail) : "";
  const message = textAt(error, "message") || textAt(body, "error") || textAt(body, "message") || detail || text;
  const status = Number(error.code ?? error.status);
  const resetAt = resetFromBody(body, now);
  return {
    status: status >= 400 && status < 600 ? status : null,
    code: codeOf(error),
    message: (raw === "" ? message : `${message}: ${raw}`).slice(0, 2000),
    ...(resetAt !== undefined && { resetAt }),
  };
}

function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    const first: unknown = Array.isArray(value) ? value[0] : value;
    return isRecord(first) ? first : null;
  } catch {
    return null;
  }
}

function codeOf(error: Json): string {
  if (listAt(error, "details").some((detail) => detail.reason === "API_KEY_INVALID")) return "invalid_api_key";
  return textAt(error, "code") || textAt(error, "status") || textAt(error, "type");
}

export function retryAfter(headers: Headers, now: number): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const value = headers.get("retry-after")?.trim() ?? "";
  if (value === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
