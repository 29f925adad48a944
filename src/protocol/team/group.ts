// A group's work on one objective: what is asked, what each participant said, and what follows from all of it. A pure
// reading of the session's nodes, so that whoever goes on and whoever shows the result see the same.
import type { TurnStatus } from "../api/error.ts";
import type { StatementInfo } from "../schema/tree.ts";
import { textOf, type Node } from "../tree/node.ts";

export type GroupTask = {
  objective: string;
  /** What the deliverable shall look like. */
  outputFormat: string;
  userInput: string | null;
  /** Files that belong to it, as they are named to the participants. */
  context: string[];
  /** Agents and models by name. */
  participants: string[];
  discussionRounds: number;
  validationRounds: number;
  /** Null: the first participant that is a model, or else the project's model. */
  synthesizer: string | null;
  /** How many speak at the same time. */
  parallelLimit: number;
};

export const groupPhases = ["discussion", "synthesis", "validation", "refinement"] as const;
export type GroupPhase = (typeof groupPhases)[number];

/** How a participant was heard: a turn can end well and say nothing. */
export type ParticipantStatus = TurnStatus | "empty";

export type { StatementInfo };

export type Statement = StatementInfo & { text: string };

export type Dissent = { name: string; round: number; reason: string };

export type GroupOutcome = {
  /** Null before the synthesis. */
  deliverable: string | null;
  /** Who disagreed when last asked. A refinement that came after it was not shown to them. */
  dissent: Dissent[];
  participants: { name: string; status: ParticipantStatus; error?: string }[];
  rounds: { discussion: number; validation: number };
  costUsd: number | null;
};

/** What is asked, in words: the prompt of the group's turn. How many rounds and who takes part are not part of it. */
export function objectiveText({ objective, outputFormat, userInput, context }: GroupTask): string {
  const sections = [
    `# Objective\n${objective.trim()}`,
    `# Output format\n${outputFormat.trim()}`,
    ...(userInput === null || userInput.trim() === "" ? [] : [`# From the user\n${userInput.trim()}`]),
    ...(context.length === 0 ? [] : [`# Files\n${context.map((path) => `- ${path}`).join("\n")}`]),
  ];
  return sections.join("\n\n");
}

/** What a path holds of the group's work on an objective. */
export type GroupRecord = {
  /** The node that asks it; null when it was not asked yet. */
  promptNode: string | null;
  statements: Statement[];
  /** The node of the whole answer, once it is there. */
  answer: Node | null;
  /** All else on the path: the conversation around it. */
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

/** The group's work that a session did last, whatever it was about. */
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

/** Who speaks, for people: "codex, validation 2", and how it ended where that was not well. */
export function speakerLabel({ who, phase, round, status }: StatementInfo): string {
  return `${who}, ${phase} ${round}${status === "ok" ? "" : `, ${status}`}`;
}

export type Verdict = { agrees: boolean | null; reason: string };

/** A comment begins with AGREE or DISAGREE; one that does not is taken for neither. */
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

/** By a group, or by nobody yet: the same words may have been a message to somebody else. */
function isTakenUp(path: Node[], at: number): boolean {
  const after = path.slice(at + 1);
  return after.every(({ author }) => author === "note") || after.some((node) => saidOn(node)?.asked === path[at]?.id);
}
