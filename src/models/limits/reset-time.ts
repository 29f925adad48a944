// Times at which a limit ends, from headers and error bodies. All of it is foreign input: times in the past and times
// that no vendor would set are ignored.
import type { Json } from "../../kit/text/json.ts";
import { listAt, objectAt, textAt } from "../wire/json.ts";

/** The longest known limit is a calendar month. */
const maxResetMs = 32 * 86_400_000;
/** A clock of a vendor that is a little slow. The limit then ends now. */
const toleratedPastMs = 60_000;

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The time if a limit may end then. Undefined for no number, for the past, and for more than a month ahead. */
export function plausibleReset(time: number | undefined, now: number): number | undefined {
  if (time === undefined || !Number.isFinite(time)) return undefined;
  if (time < now - toleratedPastMs || time > now + maxResetMs) return undefined;
  return Math.max(now, Math.round(time));
}

/** Milliseconds of "6m0s", "1.5s", "120ms", "2h 13m" or "30" (seconds); null for other text. */
export function parseSpan(text: string): number | null {
  const compact = text.toLowerCase().replaceAll(/\s+/g, "");
  if (/^\d{1,12}(\.\d{1,9})?$/.test(compact)) return Number(compact) * 1000;
  if (compact.length > 40 || !/^(\d{1,12}(\.\d{1,9})?(ms|s|m|h|d))+$/.test(compact)) return null;
  return [...compact.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)].reduce((sum, [, count, unit]) => sum + Number(count) * unitMs[unit!]!, 0);
}

/**
 * The end of the limit in the error body of a vendor: Google's `retryDelay`, OpenAI's `resets_at` (seconds since 1970) and
 * `resets_in_seconds`.
 */
export function resetFromBody(body: Json, now: number): number | undefined {
  const error = objectAt(body, "error") ?? body;
  const detail = listAt(error, "details").find(({ retryDelay }) => retryDelay !== undefined);
  const delayMs = parseSpan(textAt(detail, "retryDelay"));
  if (delayMs !== null) return plausibleReset(now + delayMs, now);
  for (const holder of [error, body]) {
    const at = numberOf(holder["resets_at"]);
    const time = plausibleReset(at === undefined ? undefined : at > 1e11 ? at : at * 1000, now);
    const seconds = numberOf(holder["resets_in_seconds"]);
    const later = seconds === undefined || seconds < 0 ? undefined : plausibleReset(now + seconds * 1000, now);
    if (time !== undefined || later !== undefined) return time ?? later;
  }
  return undefined;
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === "number" || (typeof value === "string" && value !== "") ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}
