import { expect, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import { coalesce } from "./coalesce.ts";

test("consecutive deltas become one event, and a durable event is passed on at once", () => {
  const handed: string[][] = [];
  const { push, flush } = coalesce((events) => handed.push(events.map((event) => ("text" in event ? event.text : event.type))));
  const tell = (body: object) => push({ seq: 1, sessionId: "s", turnId: "t", at: 0, ...body } as Event);
  for (const text of ["a", "b", "c"]) tell({ n: 1, type: "text.delta", text });
  tell({ n: 2, type: "thinking.delta", text: "x" });
  for (const text of ["1", "2"]) tell({ n: 3, type: "tool.output", call: "c1", text });
  tell({ n: 4, type: "tool.output", call: "c2", text: "3" });
  expect(handed).toEqual([]);
  tell({ type: "turn.ended" });
  tell({ n: 5, type: "text.delta", text: "d" });
  flush();
  flush();
  expect(handed).toEqual([["abc", "x", "12", "3", "turn.ended"], ["d"]]);
});
