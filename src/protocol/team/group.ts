// A group's work on one objective, read from the session's nodes: the prompt, the statements and the outcome. Pure, so
// that the agent and every front end get the same result.
import type { TurnStatus } from "../api/error.ts";
import type { GroupTask } from "../schema/team.ts";
import type { StatementInfo } from "../schema/tree.ts";
import { textOf, type Node } from "../tree/node.ts";
import { addCost, type Cost } from "../tree/usage.ts";

export const groupPhases = ["discussion", "synthesis", "validation", "refinement"] as const;
export type GroupPhase = (typeof groupPhases)[number];

/** `empty`: the turn ended ok without a text. */
export type ParticipantStatus = TurnStatus | "empty";

export type { GroupTask, StatementInfo };

export type Statement = StatementInfo & { text: string };

export type Dissent = { name: string; round: number; reason: string };

export type GroupOutcome = {
  /** Null before the synthesis. */
  deliverable: string | null;
  /** Participants that disagreed in their last validation. They have not seen a later refinement. */
  dissent: Dissent[];
  participants: { name: string; status: ParticipantStatus; error?: string }[];
  rounds: { discussion: number; validation: number };
} & Cost;

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
  const isPrompt = (node: Node, index: number) => node.author === "user" && textOf(node) === objective && isPromptOfGroup(path, index);
  const promptNode = path.findLast(isPrompt)?.id ?? null;
  if (promptNode === null) return { promptNode, statements: [], answer: null, conversation: path };
  const statementNodes = path.filter((node) => statementInfoOf(node)?.asked === promptNode);
  const last = statementNodes.at(-1);
  const next = last === undefined ? undefined : path[path.indexOf(last) + 1];
  const answer = next?.author === "agent" ? next : null;
  const conversation = path.filter((node) => node.id !== promptNode && statementInfoOf(node) === null && node !== answer);
  return { promptNode, statements: statementNodes.flatMap(statementsOf), answer, conversation };
}

/** The statements of the latest group work of a session. */
export function lastStatements(path: Node[]): Statement[] {
  const statements = path.flatMap(statementsOf);
  return statements.filter(({ asked }) => asked === statements.at(-1)?.asked);
}

export function groupOutcome(statements: Statement[]): GroupOutcome {
  const comments = statements.filter(({ phase }) => phase === "discussion" || phase === "validation");
  const names = [...new Set(comments.map(({ who }) => who))];
  const lastRound = (group: GroupPhase) => Math.max(0, ...statements.filter(({ phase }) => phase === group).map(({ round }) => round));
  const deliverable = statements.findLast(({ phase, status }) => status === "ok" && (phase === "synthesis" || phase === "refinement"));
  return {
    deliverable: deliverable?.text ?? null,
    dissent: names.flatMap((name) => dissentOf(statements, name)),
    participants: names.map((name) => {
      const { status, text } = comments.findLast(({ who }) => who === name)!;
      return { name, status, ...(status === "ok" ? {} : { error: text }) };
    }),
    rounds: { discussion: lastRound("discussion"), validation: lastRound("validation") },
    ...statements.reduce<Cost>(addCost, { costUsd: 0 }),
  };
}

/** A label for users: "codex, validation 2", with the status if it is not ok. */
export function speakerLabel({ who, phase, round, status }: StatementInfo): string {
  return `${who}, ${phase} ${round}${status === "ok" ? "" : `, ${status}`}`;
}

/** A comment starts with AGREE or DISAGREE; any other start counts as neither. */
export function parseVerdict(comment: string): { agrees: boolean | null; reason: string } {
  const match = /^[\s*_#>`"-]*(?:verdict\W*|i )?(agree|disagree)\b[\s*_`".:,-]*/i.exec(comment);
  if (match === null) return { agrees: null, reason: comment.trim() };
  return { agrees: match[1]?.toLowerCase() === "agree", reason: comment.slice(match[0].length).trim() };
}

function dissentOf(statements: Statement[], name: string): Dissent[] {
  const comments = statements.filter(({ who, phase, status }) => who === name && phase === "validation" && status === "ok");
  const verdicts = comments.map(({ round, text }) => ({ round, ...parseVerdict(text) }));
  const last = verdicts.findLast(({ agrees }) => agrees !== null);
  return last?.agrees === false ? [{ name, round: last.round, reason: last.reason }] : [];
}

function statementInfoOf(node: Node): StatementInfo | null {
  return node.note?.about === "group" ? node.note.said : null;
}

function statementsOf(node: Node): Statement[] {
  const info = statementInfoOf(node);
  return info === null ? [] : [{ ...info, text: textOf(node) }];
}

/** True if a group has answered the prompt, or no agent has. The same text may have been a message to another agent. */
function isPromptOfGroup(path: Node[], index: number): boolean {
  const later = path.slice(index + 1);
  return later.every(({ author }) => author === "note") || later.some((node) => statementInfoOf(node)?.asked === path[index]?.id);
}
