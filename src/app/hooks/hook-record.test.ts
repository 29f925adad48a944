import { expect, test } from "bun:test";
import { redactor } from "../../kit/text/redact.ts";
import type { HookEvent } from "../../protocol/hooks/hook-event.ts";
import { hookRecord as recordSchema } from "../../protocol/schema/events.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { usage } from "../../store/fixtures/samples.ts";
import { hookRecord } from "./hook-record.ts";

const secret = "canary-without-a-form-123";
const options = { now: Date.UTC(2026, 0, 2), redact: redactor({ home: "/home/ada", secrets: [secret] }) };
const session = { id: "s", name: "main", directory: "/home/ada/work", project: "/home/ada/work", agent: "native", model: "x/y" } as Session;
const turn = { id: "t", agent: "native", model: "x/y", status: "ok", error: null, startedAt: 1, endedAt: 5, usage, costUsd: 0.5 } as Turn;
const events: HookEvent[] = [
  { type: "turn_ended", session, turn, answer: `done with ${secret} and sk-ant-api03-abcdefghijklmnop` },
  {
    type: "ask_opened",
    session,
    turnId: "t",
    ask: { id: "a", session: "s", turn: "t", question: `use ${secret}?`, options: [secret, "no"], openedAt: 0 } as never,
  },
  {
    type: "turn_waiting",
    session,
    turn,
    until: Date.UTC(2026, 0, 3),
    error: { kind: "rate-limited", message: `the key ${secret} is limited` },
  },
];

test("every record fits its schema, and has the time of the event", () => {
  for (const event of events) {
    const record = hookRecord(event, options);
    expect(recordSchema.parse(record)).toMatchObject({ type: event.type, at: options.now });
    expect(record["directory"]).toBe("~/work");
  }
});

test("no secret is in a record, neither a known one nor one with the form of a key", () => {
  const text = JSON.stringify(events.map((event) => hookRecord(event, options)));
  expect([text.includes(secret), text.includes("sk-ant-api03")]).toEqual([false, false]);
});

test("a long text is cut, and a secret at the cut does not appear in part", () => {
  const answer = `${"x".repeat(990)} ${secret} ${"y".repeat(100_000)} ${secret}`;
  const record = hookRecord({ ...(events[0] as Extract<HookEvent, { type: "turn_ended" }>), answer }, options);
  expect(String(record["answer"]).length).toBeLessThan(2_200);
  expect(String(record["answer"])).not.toContain("canary");
});
