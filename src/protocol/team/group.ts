// A group's work on one objective, read from the session's nodes: the prompt, the statements and the outcome. Pure, so
// that the agent and every front end get the same result.
import type { TurnStatus } from "../api/error.ts";
import type { StatementInfo } from "../schema/tree.ts";
import { textOf, type Node } from "../tree/node.ts";

export type GroupTask = {
  objective: string;
  /** The format of the deliverable. */
  outputFormat: string;
  userInput: string | null;
  /** Paths of related files, as the participants see them. */
  context: string[];
  /** Names of agents and models. */
  participants: string[];
  discussionRounds: number;
  validationRounds: number;
  /** Null: the first participant that is a model, else the project's model. */
  synthesizer: string | null;
  /** How many participants work at the same time. */
  parallelLimit: number;
};

export const groupPhases = ["discussion", "synthesis", "validation", "refinement"] as const;
export type GroupPhase = (typeof groupPhases)[number];

/** `empty`: the turn ended ok without a text. */
export type ParticipantStatus = TurnStatus | "empty";

export type { StatementInfo };

export type Statement = StatementInfo & { text: string };

export type Dissent = { name: string; round: number; reason: string };

export type GroupOutcome = {
  /** Null before the synthesis. */
  deliverable: string | null;
  /** Participants that disagreed in their last validation. They have not seen a later refinement. */
  dissent: Dissent[];
  participants: { name: string; status: ParticipantStatus; error?: string }[];
  rounds: { discussion: number; validation: number };
  costUsd: number | null;
};

/** The prompt of the group's turn. Rounds and participants are not part of it. */
export function objectiveText({ objective, outputFormat, userInput, context }: GroupTask): string {
  const sections = [
    `# Objective\n${objective.trim()}`,
    `# Output format\n${outputFormat.trim()}`,
    ...(userInput === null || userInput.trim() === "" ? [] : [`# From the user\n${userInput.trim()}`]),
    ...(context.length === 0 ? [] : [`# Files\n${context.map((path) => `- ${path}`).join("\n")}`]),
  ];
  return sections.join("\n\n");
}

/** The group's work on an objective, as a path holds it. */
export type GroupRecord = {
  /** The node with the prompt; null before it. */
  promptNode: string | null;
  statements: Statement[];
  /** The node of the final answer, if it exists. */
  answer: Node | null;
  /** All other nodes of the path. */
  conversation: Node[];
};

export function readGroup(path: Node[], objective: string): GroupRecord {
  const asked = path.findLast((node, at) => node.author === "user" && textOf(node) === objective && isTakenUp(path, at))?.id ?? null;
  if (asked === null) return { promptNode: asked, statements: [], answer: null, conversation: path };
  const own = path.filter((node) => saidOn(node)?.asked === asked);
  const last = own.at(-1);
  const after = last === undefined ? undefined : path[path.indexOf(last) + 1];
  const answer = after?.author === "agent" ? after : null;
  const around = path.filter((node) => node.id !== asked && saidOn(node) === null && node !== answer);
  return { promptNode: asked, statements: own.flatMap(statementOf), answer, conversation: around };
}

/** The statements of the latest group work of a session. */
export function lastStatements(path: Node[]): Statement[] {
  const asked = path.findLast((node) => saidOn(node) !== null)?.note;
  return asked?.about === "group" ? path.filter((node) => saidOn(node)?.asked === asked.said.asked).flatMap(statementOf) : [];
}

export function groupOutcome(said: Statement[]): GroupOutcome {
  const spoken = said.filter(({ phase }) => phase === "discussion" || phase === "validation");
  const names = [...new Set(spoken.map(({ who }) => who))];
  const roundsOf = (phase: GroupPhase) => Math.max(0, ...said.filter((each) => each.phase === phase).map(({ round }) => round));
  return {
    deliverable: said.findLast(({ phase, status }) => status === "ok" && (phase === "synthesis" || phase === "refinement"))?.text ?? null,
    dissent: names.flatMap((name) => dissentOf(said, name)),
    participants: names.map((name) => {
      const { status, text } = spoken.findLast(({ who }) => who === name)!;
      return { name, status, ...(status === "ok" ? {} : { error: text }) };
    }),
    rounds: { discussion: roundsOf("discussion"), validation: roundsOf("validation") },
    costUsd: said.reduce<number | null>((sum, { costUsd }) => (sum === null || costUsd === null ? null : sum + costUsd), 0),
  };
}

/** A label for users: "codex, validation 2", with the status if it is not ok. */
export function speakerLabel({ who, phase, round, status }: StatementInfo): string {
  return `${who}, ${phase} ${round}${status === "ok" ? "" : `, ${status}`}`;
}

export type Verdict = { agrees: boolean | null; reason: string };

/** A comment starts with AGREE or DISAGREE; any other start counts as neither. */
export function parseVerdict(comment: string): Verdict {
  const found = /^[\s*_#>`"-]*(?:verdict\W*|i )?(agree|disagree)\b[\s*_`".:,-]*/i.exec(comment);
  if (found === null) return { agrees: null, reason: comment.trim() };
  return { agrees: found[1]?.toLowerCase() === "agree", reason: comment.slice(found[0].length).trim() };
}

function dissentOf(said: Statement[], name: string): Dissent[] {
  const judged = said.filter(({ who, phase, status, text }) => {
    return who === name && phase === "validation" && status === "ok" && parseVerdict(text).agrees !== null;
  });
  const last = judged.at(-1);
  if (last === undefined) return [];
  const { agrees, reason } = parseVerdict(last.text);
  return agrees === false ? [{ name, round: last.round, reason }] : [];
}

function saidOn(node: Node): StatementInfo | null {
  return node.note?.about === "group" ? node.note.said : null;
}

function statementOf(node: Node): Statement[] {
  const said = saidOn(node);
  return said === null ? [] : [{ ...said, text: textOf(node) }];
}

/** True if a group has answered the prompt, or no agent has. The same text may have been a message to another agent. */
function isTakenUp(path: Node[], at: number): boolean {
  const after = path.slice(at + 1);
  return after.every(({ author }) => author === "note") || after.some((node) => saidOn(node)?.asked === path[at]?.id);
}
