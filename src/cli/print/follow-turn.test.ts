// Tests feeds in which one turn, several or none end.
import { expect, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { zeroUsage } from "../../protocol/tree/usage.ts";
import { followTurn } from "./follow-turn.ts";

const session = { id: "s", parentSession: null, transcript: null } as Session;
const turn = (id: string): Turn =>
  ({ id, status: "ok", usage: zeroUsage, costUsd: 0, steps: 1, startedAt: 0, endedAt: 1, enforced: null, error: null }) as Turn;
const head = (id: string) => ({ seq: 1, sessionId: "s", turnId: id, at: 0, turn: turn(id), session });
const started = (id: string): Event => ({ ...head(id), type: "turn.started" });
const ended = (id: string): Event => ({ ...head(id), type: "turn.ended", answer: `answer of ${id}` });

async function* feed(events: Event[], failure?: Error): AsyncGenerator<Event> {
  yield* events;
  if (failure !== undefined) throw failure;
}

function recordingPrinter() {
  const finished: ResultRecord[] = [];
  let events = 0;
  return { finished, count: () => events, printer: { event: () => events++, finish: (result: ResultRecord) => finished.push(result) } };
}

test("only the result of the last turn is printed, once", async () => {
  const { finished, count, printer } = recordingPrinter();
  const result = await followTurn(feed([ended("interrupted"), started("a"), ended("a"), started("b"), ended("b")]), printer);
  expect(result.result).toBe("answer of b");
  expect(finished).toEqual([result]);
  expect(count()).toBe(5);
});

test("a failure after a turn does not suppress its answer", async () => {
  const { finished, printer } = recordingPrinter();
  const failure = new Error("the copy could not be written");
  await expect(followTurn(feed([started("a"), ended("a")], failure), printer)).rejects.toBe(failure);
  expect(finished.map((record) => record.result)).toEqual(["answer of a"]);
});

test("a feed without an ended turn is an internal fault, and no result is printed", async () => {
  const { finished, printer } = recordingPrinter();
  await expect(followTurn(feed([ended("interrupted"), started("a")]), printer)).rejects.toMatchObject({ code: "internal" });
  expect(finished).toEqual([]);
});
