// Times in the reader's own zone and language.
import { ago } from "../../../kit/text/duration.ts";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function clockTime(at: number): string {
  return clock.format(at);
}

export function exactTime(at: number): string {
  return exact.format(at);
}

/** "just now", "3 minutes ago". */
export function relativeTime(at: number, now: number): string {
  return ago(now - at);
}
