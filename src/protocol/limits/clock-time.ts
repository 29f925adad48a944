// Formats a moment for people, in the time zone of this machine.
import { formatDuration } from "../../kit/text/duration.ts";

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** "14:05" on the day of `now`, else "18 Nov 14:05". */
export function clockTime(time: number, now: number): string {
  const date = new Date(time);
  const text = `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
  return date.toDateString() === new Date(now).toDateString() ? text : `${date.getDate()} ${months[date.getMonth()]} ${text}`;
}

/** "waiting until 14:05", or "waiting until 14:05:20" for the next two minutes. Rounded up. */
export function waitingText(until: number, now: number): string {
  const isNear = until - now < 120_000;
  const unit = isNear ? 1000 : 60_000;
  const end = Math.ceil(until / unit) * unit;
  return `waiting until ${clockTime(end, now)}${isNear ? `:${String(new Date(end).getSeconds()).padStart(2, "0")}` : ""}`;
}

/** Waits shorter than this are shown as a duration. */
const shownAsTimeMs = 5_000;

/** The wait before a request is sent again: "retrying in 500 ms", or "waiting until 14:05:20". `at` is the time of the event. */
export function retryText({ at, waitMs }: { at: number; waitMs: number }): string {
  return waitMs < shownAsTimeMs ? `retrying in ${formatDuration(waitMs)}` : waitingText(at + waitMs, at);
}
