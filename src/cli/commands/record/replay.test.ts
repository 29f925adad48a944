import { expect, test } from "bun:test";
import type { Event } from "../../../protocol/tree/event.ts";
import { scheduleEvents } from "./replay-schedule.ts";
import { replaySvg } from "./replay-svg.ts";

const events = [0, 1_000, 500, 61_000].map((at) => ({ at }) as Event);

test("a replay keeps the pauses of the session, and a clock that was set back makes none", () => {
  const times = (speed: number, maxPauseMs: number | null) => scheduleEvents(events, { speed, maxPauseMs }).map(({ afterMs }) => afterMs);
  expect(times(1, null)).toEqual([0, 1_000, 1_000, 61_000]);
  expect(times(10, null)).toEqual([0, 100, 100, 6_100]);
  expect(times(2, 2_000)).toEqual([0, 500, 500, 1_500]);
  expect(scheduleEvents([], { speed: 1, maxPauseMs: null })).toEqual([]);
});

test("an SVG shows each row at its time, wraps long ones, scrolls, and keeps colours", () => {
  const printed = [
    { text: "\u001b[1mone\u001b[22m two\n", afterMs: 0 },
    { text: "\u001b[31mlong line\u001b[39m\nlast\n", afterMs: 2_000 },
  ];
  const svg = replaySvg(printed, { columns: 8, rows: 2, title: "<t>" });
  expect(svg).toContain('aria-label="&lt;t&gt;"');
  expect(svg).toMatch(/class="bold"[^>]*>one<.*>two</);
  expect(svg.match(/class="c1"/g)).toHaveLength(2);
  expect([...svg.matchAll(/animation-delay:([\d.]+)s/g)].map(([, delay]) => delay)).toEqual(["0", "2", "2", "2"]);
  // Four rows, two are visible: at two thirds of three seconds the first two have left the screen.
  expect(svg).toContain("66.667% { transform: translateY(-38px) } 100% { transform: translateY(-38px) }");
  expect(replaySvg([], { columns: 8, rows: 2, title: "empty" })).toEndWith("</svg>\n");
});

test("characters that XML forbids are left out of an SVG", () => {
  const svg = replaySvg([{ text: "a\u0000b\ufffec\ud800d]]>&", afterMs: 0 }], { columns: 80, rows: 2, title: "t" });
  expect(svg).toContain("abc\ufffdd]]&gt;&amp;");
});
