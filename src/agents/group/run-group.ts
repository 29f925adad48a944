// The group's work from where it stands to its end: discussion, synthesis, validation. All it knows is what was said,
// so it goes on from any point at which it was interrupted. A participant that fails is left out from then on.
import { oneLine } from "../../kit/text/cut-text.ts";
import {
  groupOutcome,
  parseVerdict,
  type GroupPhase,
  type GroupTask,
  type StatementInfo,
  type Statement,
} from "../../protocol/team/group.ts";
import type { TurnContext } from "../../protocol/api/ports.ts";
import type { TurnEnd } from "../../protocol/tree/turn.ts";
import { discussionTask, refinementTask, synthesisTask, validationTask, type PromptContext } from "./prompts.ts";
import type { Participant } from "./participants.ts";
import { askParticipant } from "./ask-participant.ts";

export type GroupRun = {
  group: GroupTask;
  participants: Participant[];
  synthesizer: Participant;
  /** The node that says what was asked. */
  promptNode: string;
  conversation: PromptContext["conversation"];
  statements: Statement[];
  context: TurnContext;
  retryAfterMs: number;
  /** Resolves when it is stored. */
  record: (said: StatementInfo, text: string) => Promise<void>;
};

const titleChars = 120;

/** Whoever failed since this turn began, and what stops it. */
type Progress = GroupRun & { failed: Set<string>; halt: TurnEnd | null };

/** Null when there is a deliverable and everyone was heard on it; otherwise how the turn ends without that. */
export async function runGroup(run: GroupRun): Promise<TurnEnd | null> {
  const progress: Progress = { ...run, failed: new Set(), halt: null };
  for (const phase of [discuss, synthesize, validate]) {
    await phase(progress);
    if (progress.halt !== null) return progress.halt;
  }
  return null;
}

async function discuss(progress: Progress): Promise<void> {
  const { group, participants: seats, statements: said } = progress;
  if (said.some(({ phase }) => phase !== "discussion")) return;
  for (let round = lastRound(said, "discussion"); round <= group.discussionRounds && progress.halt === null; round += 1)
    await askEveryone(progress, "discussion", round, (asked) => discussionTask(asked, round));
  if (progress.halt !== null || said.some(({ status }) => status === "ok")) return;
  const why = seats.map(({ name }) => said.findLast(({ who }) => who === name)).filter((last) => last !== undefined);
  const kind = why[0]?.status;
  const message = `no participant could be heard: ${why.map(({ who, status, text }) => `${who} (${status}): ${text}`).join("; ")}`;
  const status = kind === undefined || kind === "empty" || kind === "ok" ? "broken" : kind;
  progress.halt = { status, error: { kind: status, message } };
}

/** Where the one whose task it is can't, another model that takes part does it. */
async function synthesize(progress: Progress): Promise<void> {
  const { statements: said, participants: seats, synthesizer, failed } = progress;
  const others = seats.filter(({ name, isModel }) => isModel && name !== synthesizer.name);
  const able = [synthesizer, ...others].filter(({ name }) => !failed.has(name));
  for (const seat of able.length === 0 ? [synthesizer] : able) {
    if (progress.halt !== null || groupOutcome(said).deliverable !== null) return;
    await askOne(progress, seat, "synthesis", 1, synthesisTask(promptContext(progress, seat)));
  }
  const last = said.findLast(({ phase }) => phase === "synthesis");
  if (progress.halt !== null || last === undefined || last.status === "ok") return;
  const status = last.status === "empty" ? "broken" : last.status;
  progress.halt = { status, error: { kind: status, message: `nobody could write the deliverable: ${last.who}: ${last.text}` } };
}

async function validate(progress: Progress): Promise<void> {
  const { group, statements: said } = progress;
  for (let round = lastRound(said, "validation"); round <= group.validationRounds && progress.halt === null; round += 1) {
    if (!said.some((each) => each.phase === "refinement" && each.round === round)) {
      const deliverable = groupOutcome(said).deliverable ?? "";
      await askEveryone(progress, "validation", round, (asked) => validationTask(asked, deliverable));
      if (progress.halt !== null || isSettled(said, round)) return;
      await refine(progress, round, deliverable);
    }
  }
}

/** By whoever wrote it. When that fails, the deliverable stays what it was. */
async function refine(progress: Progress, round: number, deliverable: string): Promise<void> {
  const { statements: said, participants: seats, synthesizer } = progress;
  const writer = said.findLast(({ phase, status }) => phase === "synthesis" && status === "ok")?.who;
  const seat = seats.find(({ name }) => name === writer) ?? synthesizer;
  await askOne(progress, seat, "refinement", round, refinementTask(promptContext(progress, seat), deliverable, commentsOf(said, round)));
}

function commentsOf(said: Statement[], round: number): Statement[] {
  return said.filter((each) => each.phase === "validation" && each.round === round && each.status === "ok");
}

/** Nobody would change anything. */
function isSettled(said: Statement[], round: number): boolean {
  return commentsOf(said, round).every(({ text }) => parseVerdict(text).agrees === true);
}

/** Those who were not heard in this round yet, so many at a time; each sees what was said until then. */
async function askEveryone(progress: Progress, phase: GroupPhase, round: number, taskFor: (asked: PromptContext) => string): Promise<void> {
  const { group, participants: seats, statements: said, failed } = progress;
  const isHeard = (name: string) =>
    said.some((each) => each.phase === phase && each.round === round && each.who === name && each.status === "ok");
  const waiting = seats.filter(({ name }) => !failed.has(name) && !isHeard(name));
  const next = async (): Promise<void> => {
    for (let seat = waiting.shift(); seat !== undefined && progress.halt === null; seat = waiting.shift())
      await askOne(progress, seat, phase, round, taskFor(promptContext(progress, seat)));
  };
  await Promise.all(Array.from({ length: group.parallelLimit }, next));
}

async function askOne(progress: Progress, participant: Participant, phase: GroupPhase, round: number, task: string): Promise<void> {
  const call = `${phase} ${round}: ${participant.name}`;
  const question = { task, call, title: `${call}: ${oneLine(progress.group.objective, titleChars)}` };
  const reply = await askParticipant(participant, question, progress.context, progress.retryAfterMs);
  if ("halt" in reply) {
    progress.halt ??= { status: reply.halt.kind, error: reply.halt };
    return;
  }
  const { status, text, tries, sessionId, spent } = reply;
  const said: StatementInfo = {
    asked: progress.promptNode,
    phase,
    round,
    who: participant.name,
    status,
    tries,
    sessionId,
    costUsd: spent.costUsd,
  };
  if (status !== "ok" && phase !== "refinement") progress.failed.add(participant.name);
  progress.statements.push({ ...said, text });
  await progress.record(said, text);
}

function promptContext({ group, participants: seats, conversation: around, statements: said }: Progress, seat: Participant): PromptContext {
  return { group, participants: seats, conversation: around, statements: [...said], participant: seat };
}

/** Where it goes on: rounds before one that was begun are over. */
function lastRound(said: Statement[], phase: GroupPhase): number {
  return Math.max(1, ...said.filter((each) => each.phase === phase).map(({ round }) => round));
}
