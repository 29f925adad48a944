// Schemas of events and their content. Durable events are stored before they are shown and advance `seq`.
// Transient events carry an increment; a slow reader may miss some.
import { z } from "zod";
import { denialKinds } from "../api/policy.ts";
import { renamedFields } from "../json/field-names.ts";
import { count, fields, hubOnly, nullableText, texts, time } from "./fields.ts";
import { ask, id, node, pendingTurn, queuedInput, session, spent, turn, turnError, usage } from "./tree.ts";

/** The budget that is left; a field is null without such a limit. */
export const remainingBudget = fields({
  tokens: count.nullable(),
  costUsd: z.number().nullable(),
  children: count.nullable(),
});

const durable = { seq: count.describe("number of the durable event in its session"), sessionId: id, turnId: id, at: time };
const transient = { ...durable, n: count.describe("number of the transient event after `seq`") };
const betweenTurns = { ...durable, turnId: z.union([id, z.literal("")]).describe("empty between turns") };
const call = z.string();

const durableEvent = z.discriminatedUnion("type", [
  fields({ type: z.literal("turn.started"), ...durable, turn, session }),
  fields({ type: z.literal("node.added"), ...betweenTurns, node }),
  fields({ type: z.literal("ask.opened"), ...durable, ask }),
  fields({ type: z.literal("ask.closed"), ...durable, ask }),
  fields({
    type: z.literal("queue.changed"),
    ...betweenTurns,
    queue: z.array(queuedInput).describe("all messages that wait for the agent"),
  }),
  /** Only the live event of an ended turn has the answer, the usage of sub-sessions, the budget that is left and `next`. */
  fields({
    type: z.literal("turn.ended"),
    ...durable,
    turn,
    session,
    answer: hubOnly(z.string().optional()),
    below: hubOnly(spent.optional()),
    left: hubOnly(remainingBudget.optional()),
    next: pendingTurn.optional().describe("the pending turn that continues it: it waits for a vendor's limit, or its process was killed"),
  }),
]);

const transientEvent = z.discriminatedUnion("type", [
  fields({ type: z.literal("text.delta"), ...transient, text: z.string() }),
  fields({ type: z.literal("thinking.delta"), ...transient, text: z.string() }),
  fields({ type: z.literal("call.started"), ...transient, call, name: z.string() }),
  fields({ type: z.literal("tool.started"), ...transient, call, name: z.string(), input: z.record(z.string(), z.unknown()) }),
  fields({
    type: z.literal("tool.output"),
    ...transient,
    call,
    text: z.string(),
    stream: z.enum(["stdout", "stderr"]).optional().describe("of a command that the user runs; else both streams are one"),
  }),
  fields({
    type: z.literal("tool.exited"),
    ...transient,
    call,
    exitCode: z.number().nullable().describe("of a command that the user ran; null if it was stopped or did not run"),
    signal: z.string().nullable().describe("the signal that ended the command"),
    durationMs: count,
  }),
  fields({
    type: z.literal("tool.denied"),
    ...transient,
    call,
    what: z.enum(denialKinds).describe("what the policy, a limit or the guard refused"),
    text: z.string().describe("the text that the model gets, too"),
  }),
  /** The project's files are being recorded for longer than a moment. Calls that may change files wait for it. */
  fields({ type: z.literal("snapshot.started"), ...transient }),
  fields({ type: z.literal("snapshot.ended"), ...transient }),
  fields({ type: z.literal("model.retried"), ...transient, attempt: count, waitMs: count, error: turnError }),
  fields({ type: z.literal("warning.raised"), ...transient, message: z.string() }),
  fields({ type: z.literal("turn.paused"), ...transient }),
  fields({ type: z.literal("turn.resumed"), ...transient }),
  /** A sub-session has started under a call. Its own events are watched by its id. */
  fields(
    { type: z.literal("session.spawned"), ...transient, call, session: id, agent: z.string(), task: z.string() },
    renamedFields.spawned,
  ),
  fields({
    type: z.literal("draft.shown"),
    ...transient,
    key: z.string().describe('"text", "thinking" or a call'),
    text: z.string().describe("the streamed text so far, sent once to a watcher that joins late"),
  }),
]);

export const event = z.union([durableEvent, transientEvent]);
export type DurableEvent = z.output<typeof durableEvent>;
export type TransientEvent = z.output<typeof transientEvent>;

const hookShared = {
  at: time,
  sessionId: z.string(),
  sessionName: nullableText,
  directory: z.string(),
  project: z.string(),
  turnId: z.string(),
  agent: z.string(),
  model: nullableText,
};

/** The record that a hook gets. */
export const hookRecord = z.discriminatedUnion("type", [
  fields({
    type: z.literal("turn_ended"),
    ...hookShared,
    status: z.string().describe("as in the result of a run"),
    error: turnError.nullable(),
    answer: z.string().describe("at most 2,000 characters"),
    durationMs: count,
    usage: usage.describe("without sub-sessions"),
    costUsd: z.number().nullable().describe("without sub-sessions; null if unknown"),
  }),
  fields({
    type: z.literal("ask_opened"),
    ...hookShared,
    ask: fields({ id: z.string(), question: z.string(), options: texts }),
  }),
  fields({
    type: z.literal("turn_waiting"),
    ...hookShared,
    until: time.nullable().describe("when the turn goes on; null if the vendor does not say it"),
    error: turnError.nullable(),
  }),
]);
