import { expect, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import { coalesce } from "./coalesce.ts";

test("consecutive deltas become one event, and a durable event is passed on at once", () => {
  const texts: string[] = [];
  const { push, flush } = coalesce((event) => texts.push("text" in event ? event.text : event.type));
  const pushEvent = (body: object) => push({ seq: 1, sessionId: "s", turnId: "t", at: 0, ...body } as Event);
  for (const text of ["a", "b", "c"]) pushEvent({ n: 1, type: "text.delta", text });
  pushEvent({ n: 2, type: "thinking.delta", text: "x" });
  for (const text of ["1", "2"]) pushEvent({ n: 3, type: "tool.output", call: "c1", text });
  pushEvent({ n: 4, type: "tool.output", call: "c2", text: "3" });
  expect(texts).toEqual([]);
  pushEvent({ type: "turn.ended" });
  expect(texts).toEqual(["abc", "x", "12", "3", "turn.ended"]);
  pushEvent({ n: 5, type: "text.delta", text: "d" });
  flush();
  flush();
  expect(texts.slice(5)).toEqual(["d"]);
});
