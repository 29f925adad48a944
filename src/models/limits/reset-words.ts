// Finds the end of a limit in a message for people: "resets 3pm (Europe/Berlin)", "try again at Jan 5, 4:12 PM",
// "try again in 6m0s", "usage limit reached|1735689600". Vendors and CLIs write these in many forms.
import { plausibleReset } from "./reset-time.ts";
import { localParts, zonedTime, type DateParts } from "./time-zone.ts";

const maxLength = 4000;

/** The end of the limit in the message; undefined if it names none, or no plausible one. */
export function resetFromWords(message: string, now: number): number | undefined {
  const text = message.slice(0, maxLength).replaceAll(/[\s\u202f\u00a0]+/g, " ");
  for (const find of [epochIn, isoIn, spanIn, clockTimeIn]) {
    const time = plausibleReset(find(text, now), now);
    if (time !== undefined) return time;
  }
  return undefined;
}

/** "Claude AI usage limit reached|1735689600". */
function epochIn(text: string): number | undefined {
  const digits = /\|(\d{10}|\d{13})\b/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits) * (digits.length === 10 ? 1000 : 1);
}

const announced = String.raw`(?:resets?|retry|retrying|try again|available again|wait|renews|ends)`;

function isoIn(text: string): number | undefined {
  const iso = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)/.exec(text);
  return iso !== null && new RegExp(announced, "i").test(text) ? Date.parse(iso[0].replace(" ", "T")) : undefined;
}

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const spanUnit = String.raw`(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)`;
const spanPattern = new RegExp(
  String.raw`\b${announced} (?:in |after |for )?(?:about |~ ?)?((?:\d{1,9}(?:\.\d{1,12})? ?${spanUnit}\b ?,? ?(?:and )?|\d{1,9}(?:\.\d{1,12})?(?:ms|s|m|h|d)(?=\d)){1,6})`,
  "i",
);

/** "try again in 6m0s", "It will reset in 1 day 3 hours", "reset after 2h13m5s", "Please retry in 34.07s". */
function spanIn(text: string, now: number): number | undefined {
  if (new RegExp(String.raw`\b${announced} in less than a minute\b`, "i").test(text)) return now + 60_000;
  const span = spanPattern.exec(text)?.[1];
  if (span === undefined) return undefined;
  const parts = [...span.matchAll(/(\d+(?:\.\d+)?) ?(ms|milli|[smhdw])/gi)];
  return now + parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * unitMs[unit.toLowerCase().replace("milli", "ms")]!, 0);
}

const month = String.raw`(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?`;
const date = String.raw`(?:${month} (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?,? (?:at )?)?`;
const zone = String.raw`(?: ?\(?((?:[A-Z][A-Za-z]+\/[A-Za-z_]+(?:\/[A-Za-z_]+)?)|(?:UTC|GMT)(?: ?[+-]\d{1,2}(?::?\d\d)?)?|[A-Z]{3,4})\)?)?`;
const clockPattern = new RegExp(String.raw`\b${announced} (?:at |on )?${date}(\d{1,2})(?::(\d\d))?(?::\d\d)? ?([ap]m)?\b`, "i");
const zonePattern = new RegExp(`^${zone}`);

/** "resets 3pm (Europe/Berlin)", "try again at Jan 5th, 2026 4:12 PM", "Access resets at 3:04 PM PST". */
function clockTimeIn(text: string, now: number): number | undefined {
  const match = clockPattern.exec(text);
  if (match === null) return undefined;
  const [whole, monthName, day, year, hourText, minute, half] = match;
  if (minute === undefined && half === undefined) return undefined;
  const hour = hourOf(Number(hourText), half?.toLowerCase());
  if (hour === null || Number(minute ?? 0) > 59) return undefined;
  const zoneName = zonePattern.exec(text.slice(match.index + whole.length))?.[1] ?? null;
  const time = { hour, minute: Number(minute ?? 0) };
  if (monthName === undefined) return nextOccurrence(time, zoneName, now);
  const monthNumber = "janfebmaraprmayjunjulaugsepoctnovdec".indexOf(monthName.toLowerCase()) / 3 + 1;
  const { year: thisYear } = localParts(now, zoneName);
  const parts = { month: monthNumber, day: Number(day), ...time };
  if (year !== undefined) return zonedTime({ ...parts, year: Number(year) }, zoneName);
  // A message in December may name a day of January.
  return [thisYear, thisYear + 1].map((each) => zonedTime({ ...parts, year: each }, zoneName)).find((each) => each >= now - 3_600_000);
}

/** The next such time of day: tomorrow if it has passed today. */
function nextOccurrence(time: Pick<DateParts, "hour" | "minute">, zoneName: string | null, now: number): number | undefined {
  const today = localParts(now, zoneName);
  const days = [0, 1].map((later) => zonedTime({ ...today, day: today.day + later, ...time }, zoneName));
  return days.find((each) => each > now - 60_000);
}

function hourOf(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour < 24 ? hour : null;
  if (hour < 1 || hour > 12) return null;
  return (hour % 12) + (half === "pm" ? 12 : 0);
}
