// Reads the limits that a vendor reports in the headers of an answer: the size of each window, its use and its end.
// Headers are foreign input: a value that is no number or no plausible time is ignored.
import type { LimitWindow } from "../../protocol/limits/limit-window.ts";
import { parseSpan, plausibleReset } from "./reset-time.ts";

/** The names of windows come from headers, so their number is bounded. */
const maxWindows = 16;

/** The windows in the headers, in a stable order. Empty for a vendor that reports none. */
export function readWindows(headers: Headers, now: number): LimitWindow[] {
  const windows = new Map<string, LimitWindow>();
  const change = (name: string, fields: Partial<LimitWindow>): void => {
    const window = windows.get(name) ?? { name, used: null, limit: null, remaining: null, resetAt: null, isUsedUp: false };
    if (windows.has(name) || windows.size < maxWindows) windows.set(name, { ...window, ...fields });
  };
  for (const [header, value] of [...headers].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    for (const read of [readUnified, readAnthropic, readOpenAi, readCodex]) read({ header, value: value.trim(), now, change, headers });
  }
  return [...windows.values()].map(withUse);
}

/** The latest end of the windows that are used up; undefined if none is, or if none has a plausible end. */
export function resetOfUsedUp(windows: readonly LimitWindow[]): number | undefined {
  const ends = windows.flatMap(({ isUsedUp, resetAt }) => (isUsedUp && resetAt !== null ? [resetAt] : []));
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** True for the windows of a subscription. Their end counts more than a `retry-after`. */
export function isSubscriptionWindow({ name }: Pick<LimitWindow, "name">): boolean {
  return /^(\d+(m|h|d)(-\w+)?|overage|subscription)$/.test(name);
}

type Field = { header: string; value: string; now: number; change: (name: string, fields: Partial<LimitWindow>) => void; headers: Headers };

/** Subscriptions of Anthropic: `anthropic-ratelimit-unified-5h-reset: 1763400000`, `...-7d-utilization: 0.42`. */
function readUnified({ header, value, now, change }: Field): void {
  const match = /^anthropic-ratelimit-unified-(?:(\d+[hd](?:_\w+)?|overage)-)?(status|reset|utilization)$/.exec(header);
  if (match === null) return;
  const name = match[1]?.replace("_", "-") ?? "subscription";
  if (match[2] === "status") change(name, { isUsedUp: value === "rejected" });
  if (match[2] === "reset") change(name, { resetAt: plausibleReset(epochOf(value), now) ?? null });
  if (match[2] === "utilization") change(name, { used: fractionOf(value, 1) });
}

/** `anthropic-ratelimit-input-tokens-remaining: 0`, `...-reset: 2026-01-05T16:12:00Z`. */
function readAnthropic({ header, value, now, change }: Field): void {
  const match = /^anthropic-ratelimit-(requests|tokens|input-tokens|output-tokens)-(limit|remaining|reset)$/.exec(header);
  if (match !== null) readCount(match, plausibleReset(Date.parse(value), now), { value, change });
}

/**
 * OpenAI and its relatives: `x-ratelimit-remaining-requests: 0`, `x-ratelimit-reset-requests: 6m0s`. OpenRouter and others
 * omit the name of the window, and give its end as a time or as seconds.
 */
function readOpenAi({ header, value, now, change }: Field): void {
  const match = /^(?:x-)?ratelimit-(limit|remaining|reset)(?:-([a-z][a-z-]{0,30}))?$/.exec(header);
  if (match === null) return;
  const [, kind = "", name = "requests"] = match;
  const number = Number(value);
  const isEpoch = /^\d+(\.\d+)?$/.test(value) && number > 1e9;
  const end = isEpoch ? epochOf(value) : now + (parseSpan(value) ?? Number.NaN);
  readCount([header, name, kind], plausibleReset(end, now), { value, change });
}

/** Subscriptions of OpenAI: `x-codex-primary-used-percent: 100`, `...-window-minutes: 300`, `...-reset-at: 1763400000`. */
function readCodex({ header, value, now, change, headers }: Field): void {
  const match = /^x-codex-(primary|secondary)-(used-percent|reset-at|reset-after-seconds)$/.exec(header);
  if (match === null) return;
  const minutes = Number(headers.get(`x-codex-${match[1]}-window-minutes`) ?? "");
  const name = spanName(minutes) ?? (match[1] === "primary" ? "5h" : "7d");
  const used = fractionOf(value, 100);
  if (match[2] === "used-percent") change(name, { used, isUsedUp: used !== null && used >= 1 });
  if (match[2] === "reset-at") change(name, { resetAt: plausibleReset(epochOf(value), now) ?? null });
  if (match[2] === "reset-after-seconds") change(name, { resetAt: plausibleReset(now + Number(value) * 1000, now) ?? null });
}

/** "5h" of 300 minutes, "7d" of 10,080; null for no plausible number. */
function spanName(minutes: number): string | null {
  if (!Number.isInteger(minutes) || minutes < 1 || minutes > 60 * 24 * 366) return null;
  if (minutes % 1440 === 0) return `${minutes / 1440}d`;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}

function readCount(match: readonly string[], end: number | undefined, { value, change }: Pick<Field, "value" | "change">): void {
  const [, name = "", kind = ""] = match;
  const count = /^\d{1,15}(\.\d+)?$/.test(value) ? Number(value) : null;
  if (kind === "limit") change(name, { limit: count });
  if (kind === "remaining") change(name, { remaining: count, isUsedUp: count === 0 });
  if (kind === "reset") change(name, { resetAt: end ?? null });
}

function withUse(window: LimitWindow): LimitWindow {
  const { limit, remaining } = window;
  if (window.used !== null || limit === null || remaining === null || limit <= 0) return window;
  return { ...window, used: Math.min(1, Math.max(0, 1 - remaining / limit)) };
}

/** Seconds or milliseconds since 1970, as a time in milliseconds. */
function epochOf(value: string): number {
  const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  return number > 1e11 ? number : number * 1000;
}

function fractionOf(value: string, whole: number): number | null {
  const number = value === "" ? Number.NaN : Number(value) / whole;
  return Number.isFinite(number) && number >= 0 ? Math.min(1, number) : null;
}
