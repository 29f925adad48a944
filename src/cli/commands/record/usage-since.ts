// The value of `skein usage --since`: a duration before now, or a date of this machine's time zone.
import { parseDuration } from "../../../kit/text/duration.ts";
import { Fault } from "../../../protocol/api/error.ts";

const dayMs = 86_400_000;

/** Whole days begin at midnight, so that the first bar of a plot is a whole day. */
export function parseSince(text: string, now: number): number {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  const isDate = year !== undefined && date.getMonth() === Number(month) - 1 && date.getDate() === Number(day);
  const duration = /[a-z]$/.test(text) ? parseDuration(text) : null;
  const since = isDate ? date.getTime() : duration === null ? null : startOf(now - duration, duration >= dayMs);
  if (since === null || !Number.isFinite(since) || since < 0)
    throw new Fault("usage", `--since takes a time such as 7d or a date such as 2026-11-01, not "${text}"`);
  if (since > now) throw new Fault("usage", `--since ${text} is in the future`);
  return since;
}

function startOf(at: number, isWholeDay: boolean): number {
  return isWholeDay ? new Date(at).setHours(0, 0, 0, 0) : at;
}
