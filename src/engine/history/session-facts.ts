// The facts of a session that need no model: its turns, changed files, tool calls and errors. They are
// read from the store, along the path to the session's tip.
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import type { FileChange } from "../../protocol/tree/file-changes.ts";
import type { Description, SessionType } from "../../protocol/tree/history.ts";
import { callsOf, textOf, type Node, type ResultPart } from "../../protocol/tree/node.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { addSpent, zeroSpent, withSubSessions } from "../../protocol/tree/usage.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { branchFiles } from "../files/branch-files.ts";

const max = { timeline: 50, files: 200, errors: 20 };
const taskChars = 200;
const errorChars = 300;

export type SessionFacts = Omit<Description, "oneLiner" | "summary" | "outcomes" | "custom">;

export async function readSessionFacts(deps: EngineDeps, store: Store, session: Session, path: Node[]): Promise<SessionFacts> {
  const turns = await turnsOn(store, path);
  const type = typeOf(path, turns);
  const { files, notes } = await filesOf(deps, store, path);
  const artifacts = {
    files: orUndefined(files),
    errors: orUndefined(errorsOf(path, turns, deps.history.redact)),
    tools: orUndefined(toolsOf(path)),
  };
  return {
    session: { id: session.id, name: session.name },
    sessionType: type,
    status: turns.at(-1)?.status ?? null,
    timeline: type === "minimal" ? undefined : timelineOf(path, turns, deps.history.redact),
    artifacts: Object.values(artifacts).some((list) => list !== undefined) ? artifacts : undefined,
    metrics: metricsOf(path, turns),
    notes: orUndefined(notes),
  };
}

/** Undefined for an empty list, so that the description has no such field. */
function orUndefined<Item>(items: Item[]): Item[] | undefined {
  return items.length === 0 ? undefined : items;
}

async function turnsOn(store: Store, path: Node[]): Promise<Turn[]> {
  const ids = [...new Set(path.flatMap(({ turn }) => (turn === null ? [] : [turn])))];
  return (await Promise.all(ids.map((id) => store.turn(id)))).filter((turn) => turn !== null);
}

function typeOf(path: Node[], turns: Turn[]): SessionType {
  const messages = messagesIn(path);
  if (turns.length <= 1 && messages <= 2) return "minimal";
  return turns.length >= 8 || messages >= 40 ? "detailed" : "standard";
}

/** Counts messages with text; tool calls and their results don't count. */
function messagesIn(path: Node[]): number {
  return path.filter((node) => (node.author === "user" || node.author === "agent") && textOf(node) !== "").length;
}

type Redact = (text: string) => string;

function timelineOf(path: Node[], turns: Turn[], redact: Redact): Description["timeline"] {
  const prompts = new Map(
    path
      .filter(({ author }) => author === "user")
      .map((node) => [node.turn, textOf(node)] as const)
      .toReversed(),
  );
  return turns.slice(-max.timeline).map(({ id, startedAt, agent, status }) => ({
    at: startedAt,
    agent,
    task: oneLine(redact(prompts.get(id) ?? ""), taskChars),
    status,
  }));
}

function errorsOf(path: Node[], turns: Turn[], redact: Redact): { by: string; message: string }[] {
  const errors = [
    ...failedResults(path).map(({ name, text }) => ({ by: name, message: text })),
    ...turns.flatMap(({ agent, error }) => (error === null ? [] : [{ by: agent, message: error.message }])),
  ];
  return errors.slice(-max.errors).map(({ by, message }) => ({ by, message: oneLine(redact(message), errorChars) }));
}

type ToolFacts = { name: string; calls: number; failed: number };

function toolsOf(path: Node[]): ToolFacts[] {
  const tools = new Map<string, ToolFacts>();
  for (const { name } of path.flatMap(callsOf)) {
    const tool = tools.get(name) ?? { name, calls: 0, failed: 0 };
    tool.calls += 1;
    tools.set(name, tool);
  }
  for (const { name } of failedResults(path)) {
    const tool = tools.get(name);
    if (tool !== undefined) tool.failed += 1;
  }
  return [...tools.values()].toSorted((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1));
}

function failedResults(path: Node[]): ResultPart[] {
  return path
    .flatMap((node) => node.parts)
    .filter((part) => part.kind === "result")
    .filter(({ isError }) => isError);
}

/** Changes by others between or beside the turns don't count. */
async function filesOf(deps: EngineDeps, store: Store, path: Node[]): Promise<{ files: FileChange[]; notes: string[] }> {
  const branch = await branchFiles(store, deps.snapshots, { path, start: 0 }).catch(() => "lost" as const);
  if (branch === "lost") return { files: [], notes: ["the file changes are no longer stored"] };
  if (branch === null) return { files: [], notes: ["the file changes were not recorded"] };
  const { changes, unknown } = branch;
  const notes = unknown === 0 ? [] : [`the files after ${pluralize(unknown, "answer")} with tool calls were not recorded`];
  if (changes.length > max.files) notes.push(`${changes.length - max.files} more files were changed`);
  return { files: changes.slice(0, max.files), notes };
}

function metricsOf(path: Node[], turns: Turn[]): Description["metrics"] {
  const ended = turns.filter(({ endedAt }) => endedAt !== null);
  const firstStart = Math.min(...turns.map(({ startedAt }) => startedAt));
  const lastEnd = Math.max(...turns.map(({ startedAt, endedAt }) => endedAt ?? startedAt));
  const workMs = ended.reduce((sum, { startedAt, endedAt }) => sum + endedAt! - startedAt, 0);
  const seconds = (ms: number) => Math.round(ms / 100) / 10;
  const { usage, ...cost } = turns.map(withSubSessions).reduce(addSpent, zeroSpent);
  return {
    messageCount: messagesIn(path),
    turns: turns.length,
    durationSeconds: turns.length === 0 ? 0 : seconds(lastEnd - firstStart),
    workSeconds: seconds(workMs),
    inputTokens: usage.input + usage.cacheRead + usage.cacheWrite,
    outputTokens: usage.output,
    ...cost,
  };
}
