import { expect, test } from "bun:test";
import { clockTime, retryText, waitingText } from "./clock-time.ts";

const now = new Date(2026, 10, 17, 14, 2, 3, 500).getTime();
const at = (...time: [hours: number, minutes: number, seconds?: number]): number => new Date(2026, 10, 17, ...time).getTime();

test("a time of the same day has no date, another day has one", () => {
  expect(clockTime(at(16, 5), now)).toBe("16:05");
  expect(clockTime(new Date(2026, 10, 18, 0, 5).getTime(), now)).toBe("18 Nov 00:05");
});

test("a wait names its end, rounded up, with seconds if it is near", () => {
  expect(waitingText(at(16, 4, 1), now)).toBe("waiting until 16:05");
  expect(waitingText(now + 20_000, now)).toBe("waiting until 14:02:24");
  expect(waitingText(new Date(2026, 10, 18, 3, 0).getTime(), now)).toBe("waiting until 18 Nov 03:00");
});

test("a short wait before a retry is a duration, a longer one names its end", () => {
  expect(retryText({ at: now, waitMs: 500 })).toBe("retrying in 500 ms");
  expect(retryText({ at: now, waitMs: 20_000 })).toBe("waiting until 14:02:24");
  expect(retryText({ at: now, waitMs: 0 })).toBe("retrying in 0 ms");
});
