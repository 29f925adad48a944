import { expect, test } from "bun:test";
import { resetFromWords } from "./reset-words.ts";

const at = (iso: string): number => Date.parse(iso);
/** 15:30 in Berlin, 6:30 in Los Angeles. */
const now = at("2026-11-17T14:30:00Z");
const local = (...date: [number, number, number, number, number]): number => new Date(...date).getTime();

test.each([
  ["resets 4pm (Europe/Berlin)", "2026-11-17T15:00:00Z"],
  ["resets 3pm (Europe/Berlin)", "2026-11-18T14:00:00Z"],
  ["resets 12am (America/Los_Angeles)", "2026-11-18T08:00:00Z"],
  ["resets 12pm (America/Argentina/Buenos_Aires)", "2026-11-17T15:00:00Z"],
  ["resets 9:05am (Asia/Kolkata)", "2026-11-18T03:35:00Z"],
  ["resets Nov 20 at 3pm (Europe/Berlin)", "2026-11-20T14:00:00Z"],
  ["resets Nov 20, 3:30pm (Europe/Berlin)", "2026-11-20T14:30:00Z"],
  ["Access resets at 7:04 AM PST.", "2026-11-17T15:04:00Z"],
  ["resets 18:00 UTC", "2026-11-17T18:00:00Z"],
  ["resets 18:00 GMT+2", "2026-11-17T16:00:00Z"],
  ["resets at 2026-11-18T03:00:00Z", "2026-11-18T03:00:00Z"],
  ["Please try again at 2026-11-18 03:00:00+01:00", "2026-11-18T02:00:00Z"],
  ["Claude AI usage limit reached|1794934800", "2026-11-17T17:00:00Z"],
  ["try again in 6m0s.", "2026-11-17T14:36:00Z"],
  ["Please try again in 1.5s", "2026-11-17T14:30:01.500Z"],
  ["Please retry in 34.074824224s.", "2026-11-17T14:30:34.075Z"],
  ["try again in 120ms", "2026-11-17T14:30:00.120Z"],
  ["resets in 2h 13m", "2026-11-17T16:43:00Z"],
  ["It will reset in 1 day 3 hours. To continue", "2026-11-18T17:30:00Z"],
  ["It will reset in 2 hours 1 minute.", "2026-11-17T16:31:00Z"],
  ["It will reset in less than a minute.", "2026-11-17T14:31:00Z"],
  ["Try again in ~37 min.", "2026-11-17T15:07:00Z"],
  ["Your quota will reset after 2h13m5s.", "2026-11-17T16:43:05Z"],
  ["please wait 5 minutes, then continue", "2026-11-17T14:35:00Z"],
])("the end of the limit is read from %s", (text, expected) => {
  expect(new Date(resetFromWords(text, now) ?? 0).toISOString()).toBe(new Date(expected).toISOString());
});

test("a time without a zone is one of this machine", () => {
  const afternoon = local(2026, 0, 5, 14, 0);
  expect(resetFromWords("try again at 4:12 PM.", afternoon)).toBe(local(2026, 0, 5, 16, 12));
  expect(resetFromWords("try again at 4:12 AM.", afternoon)).toBe(local(2026, 0, 6, 4, 12));
  expect(resetFromWords("or try again at Jan 7th, 2026 4:12 PM.", afternoon)).toBe(local(2026, 0, 7, 16, 12));
  expect(resetFromWords("try again at Jan 2, 4:12 PM", local(2026, 11, 30, 8, 0))).toBe(local(2027, 0, 2, 16, 12));
});

test("a day on which the clock changes has the right hour", () => {
  expect(resetFromWords("resets 9am (Europe/Berlin)", at("2026-10-24T20:00:00Z"))).toBe(at("2026-10-25T08:00:00Z"));
  expect(resetFromWords("resets 9am (America/New_York)", at("2026-03-08T03:00:00Z"))).toBe(at("2026-03-08T13:00:00Z"));
});

test.each([
  "Claude AI usage limit reached|1735689600",
  "limit reached|99999999999999",
  "try again in 999999999 days",
  "try again in -5 minutes",
  "try again in NaN seconds",
  "resets 25:00",
  "resets 13pm",
  "resets 3:75pm",
  "resets Jan 5, 3000 4:12 PM",
  "resets at 3000-01-01T00:00:00Z",
  "resets Feb 30",
  "try again later",
  "it was reset 3 times",
  "",
  `try again in ${"9".repeat(5000)}`,
])("an absurd or missing time is ignored: %s", (text) => {
  expect(resetFromWords(text, now)).toBeUndefined();
});

test("an unknown zone counts as this machine's", () => {
  expect(resetFromWords("resets 4pm (Mars/Olympus)", local(2026, 0, 5, 14, 0))).toBe(local(2026, 0, 5, 16, 0));
});
