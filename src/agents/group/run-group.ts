// Runs a group: discussion, synthesis, validation. The recorded statements are the group's only state, so that a group can
// continue after any interruption. A participant that fails is left out from then on.
import { oneLine } from "../../kit/text/cut-text.ts";
import { groupOutcome, parseVerdict } from "../../protocol/team/group.ts";
import type { GroupPhase, GroupTask, StatementInfo, Statement } from "../../protocol/team/group.ts";
import type { TurnContext } from "../../protocol/api/ports.ts";
import type { TurnEnd } from "../../protocol/tree/turn.ts";
import { toCost } from "../../protocol/tree/usage.ts";
import { discussionPrompt, refinementPrompt, synthesisPrompt, validationPrompt, type PromptContext } from "./prompts.ts";
import type { Participant } from "./participants.ts";
import { askParticipant } from "./ask-participant.ts";

export type GroupRun = {
  group: GroupTask;
  participants: Participant[];
  synthesizer: Participant;
  /** Id of the node with the objective. */
  promptNode: string;
  conversation: PromptContext["conversation"];
  statements: Statement[];
  context: TurnContext;
  retryAfterMs: number;
  /** Names of participants that failed in this turn. */
  failed: Set<string>;
  /** The end of a turn that must stop; null while it runs. */
  halt: TurnEnd | null;
  /** Resolves when the statement is stored. */
  record: (statement: StatementInfo, text: string) => Promise<void>;
};

const maxTitleLength = 120;

type Round = { phase: GroupPhase; round: number };

/** Null if there is a validated deliverable, else the end of the failed turn. */
export async function runGroup(run: GroupRun): Promise<TurnEnd | null> {
  for (const phase of [discuss, synthesize, validate]) {
    await phase(run);
    if (run.halt !== null) return run.halt;
  }
  return null;
}

async function discuss(run: GroupRun): Promise<void> {
  const { group, participants, statements } = run;
  if (statements.some(({ phase }) => phase !== "discussion")) return;
  for (let round = roundToContinue(statements, "discussion"); round <= group.discussionRounds && run.halt === null; round += 1)
    await askEveryone(run, { phase: "discussion", round }, (ctx) => discussionPrompt(ctx, round));
  if (run.halt !== null || statements.some(({ status }) => status === "ok")) return;
  const failures = participants.map(({ name }) => statements.findLast(({ who }) => who === name)).filter((last) => last !== undefined);
  const kind = failures[0]?.status;
  const message = `no participant answered: ${failures.map(({ who, status, text }) => `${who} (${status}): ${text}`).join("; ")}`;
  const status = kind === undefined || kind === "empty" || kind === "ok" ? "broken" : kind;
  run.halt = { status, error: { kind: status, message } };
}

/** If the synthesizer fails, another participating model writes the deliverable. */
async function synthesize(run: GroupRun): Promise<void> {
  const { statements, participants, synthesizer, failed } = run;
  const others = participants.filter(({ name, isModel }) => isModel && name !== synthesizer.name);
  const candidates = [synthesizer, ...others].filter(({ name }) => !failed.has(name));
  for (const writer of candidates.length === 0 ? [synthesizer] : candidates) {
    if (run.halt !== null || groupOutcome(statements).deliverable !== null) return;
    await askOne(run, writer, { phase: "synthesis", round: 1, task: synthesisPrompt(promptContext(run, writer)) });
  }
  const last = statements.findLast(({ phase }) => phase === "synthesis");
  if (run.halt !== null || last === undefined || last.status === "ok") return;
  const status = last.status === "empty" ? "broken" : last.status;
  run.halt = { status, error: { kind: status, message: `no participant could write the deliverable: ${last.who}: ${last.text}` } };
}

async function validate(run: GroupRun): Promise<void> {
  const { group, statements } = run;
  for (let round = roundToContinue(statements, "validation"); round <= group.validationRounds && run.halt === null; round += 1) {
    if (!statements.some((statement) => statement.phase === "refinement" && statement.round === round)) {
      const deliverable = groupOutcome(statements).deliverable ?? "";
      await askEveryone(run, { phase: "validation", round }, (ctx) => validationPrompt(ctx, deliverable));
      if (run.halt !== null || allAgree(statements, round)) return;
      await refine(run, round, deliverable);
    }
  }
}

/** The writer of the deliverable improves it. If that fails, the deliverable stays as it was. */
async function refine(run: GroupRun, round: number, deliverable: string): Promise<void> {
  const { statements, participants, synthesizer } = run;
  const writerName = statements.findLast(({ phase, status }) => phase === "synthesis" && status === "ok")?.who;
  const writer = participants.find(({ name }) => name === writerName) ?? synthesizer;
  const task = refinementPrompt(promptContext(run, writer), deliverable, commentsOf(statements, round));
  await askOne(run, writer, { phase: "refinement", round, task });
}

function commentsOf(statements: Statement[], round: number): Statement[] {
  return statements.filter((statement) => statement.phase === "validation" && statement.round === round && statement.status === "ok");
}

function allAgree(statements: Statement[], round: number): boolean {
  return commentsOf(statements, round).every(({ text }) => parseVerdict(text).agrees === true);
}

/** Asks participants without a statement in this round, `parallelLimit` at a time. Each sees all statements made until then. */
async function askEveryone(run: GroupRun, { phase, round }: Round, taskFor: (ctx: PromptContext) => string): Promise<void> {
  const { group, participants, statements, failed } = run;
  const hasAnswered = (name: string) =>
    statements.some(
      (statement) => statement.phase === phase && statement.round === round && statement.who === name && statement.status === "ok",
    );
  const waiting = participants.filter(({ name }) => !failed.has(name) && !hasAnswered(name));
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && run.halt === null; next = waiting.shift())
      await askOne(run, next, { phase, round, task: taskFor(promptContext(run, next)) });
  };
  await Promise.all(Array.from({ length: group.parallelLimit }, worker));
}

async function askOne(run: GroupRun, participant: Participant, { phase, round, task }: Round & { task: string }): Promise<void> {
  const call = `${phase} ${round}: ${participant.name}`;
  const { objective, stepTimeoutMs } = run.group;
  const limits = stepTimeoutMs === null ? {} : { timeoutMs: stepTimeoutMs };
  const question = { task, call, title: `${call}: ${oneLine(objective, maxTitleLength)}`, limits };
  const reply = await askParticipant(participant, question, run.context, run.retryAfterMs);
  if ("halt" in reply) {
    run.halt ??= { status: reply.halt.kind, error: reply.halt };
    return;
  }
  const { status, text, tries, sessionId, spent } = reply;
  const statement: StatementInfo = {
    asked: run.promptNode,
    phase,
    round,
    who: participant.name,
    status,
    tries,
    sessionId,
    ...toCost(spent),
  };
  if (status !== "ok" && phase !== "refinement") run.failed.add(participant.name);
  run.statements.push({ ...statement, text });
  await run.record(statement, text);
}

function promptContext({ group, participants, conversation, statements }: GroupRun, participant: Participant): PromptContext {
  return { group, participants, conversation, statements: [...statements], participant };
}

/** The last round that has a statement, or 1. All earlier rounds are complete. */
function roundToContinue(statements: Statement[], phase: GroupPhase): number {
  return Math.max(1, ...statements.filter((statement) => statement.phase === phase).map(({ round }) => round));
}
