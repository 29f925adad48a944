// Renders everything about a run but its answer as lines. All printers for people share these lines.
import { costText, tokensText } from "../../protocol/tree/usage-text.ts";
import type { Cost } from "../../protocol/tree/usage.ts";
import { printableLabel } from "./session-label.ts";
import { realPath } from "../../kit/files/path-status.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import { retryText } from "../../protocol/limits/clock-time.ts";
import { pluralize, oneLine } from "../../kit/text/cut-text.ts";
import type { Ask, PendingTurn, QueuedInput } from "../../protocol/api/control.ts";
import type { TurnError } from "../../protocol/api/error.ts";
import { waitingText } from "../../protocol/limits/clock-time.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { hasPassed } from "../../protocol/race/race.ts";
import { shortId, textOf, type Node, type ResultPart, mainArgument } from "../../protocol/tree/node.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import { firstRows, outputRow, resultLinesOf } from "../live/output-rows.ts";
import { printable, printableText, stripControls, type Style } from "../terminal/style.ts";

export type LineStyle = {
  style: Style;
  columns: number;
  /** How many lines of a command's output are shown, and how to see the others. Default: only the first line. */
  commandOutput?: { max: number; hint: string };
  /** Texts of denials that were printed. The results repeat them. */
  denials?: ReadonlySet<string>;
};

export function startLine(event: Extract<Event, { type: "turn.started" }>): string {
  const { turn, session } = event;
  const enforcement = turn.enforced?.tier === "none" && turn.policy.name !== "full" ? " (not enforced)" : "";
  return `${stripControls(turn.agent)}${modelText(turn.model)} · policy ${turn.policy.name}${enforcement} · session ${printableLabel(session)}`;
}

/** The first lines of a turn. `directory` is the one that the turn was asked from. */
export function startLines(event: Extract<Event, { type: "turn.started" }>, directory: string | undefined, style: Style): string[] {
  const place = directory === undefined ? null : placeLine(event, directory);
  return [style.dim(startLine(event)), ...(place === null ? [] : [style.yellow(`  ${place}`)])];
}

/** A line for a session that works in another directory than the one it was asked from; null if it is the same. */
export function placeLine({ session }: Extract<Event, { type: "turn.started" }>, directory: string): string | null {
  if (session.directory === directory || realPath(session.directory) === realPath(directory)) return null;
  return `works in ${stripControls(session.directory)}, the directory of session ${printableLabel(session)}`;
}

/** A script of the replay model has no name, only a path. */
function modelText(model: string | null): string {
  if (model === null) return "";
  return model.startsWith("replay/") ? " · scripted model" : ` · ${stripControls(model)}`;
}

export function callLine(name: string, input: Record<string, unknown>, { style, columns }: LineStyle): string {
  return `${style.cyan("•")} ${style.bold(stripControls(name))} ${printable(oneLine(mainArgument(input), Math.max(20, columns - name.length - 4)))}`;
}

/** The result, followed by the diff of an edit. */
export function resultLines(part: ResultPart, lineStyle: LineStyle): string[] {
  const lines = textLines(part, lineStyle);
  return part.display?.includes("\n") === true ? [...lines, diffLines(part.display, lineStyle.style)] : lines;
}

const maxFailureLines = 10;

function textLines({ name, text, isError }: ResultPart, { style, columns, commandOutput, denials }: LineStyle): string[] {
  const lines = resultLinesOf(text, denials);
  if (isError) return failureLines(lines, { style, columns });
  if (commandOutput !== undefined && /bash|shell|command/i.test(name))
    return firstRows(lines, { ...commandOutput, columns: columns - 2 }).map((row) => style.dim(`  ${row}`));
  const more = lines.length > 1 ? ` (+${pluralize(lines.length - 1, "line")})` : "";
  return [style.dim(`  ${printable(oneLine(lines[0] ?? "", Math.max(20, columns - more.length - 4)))}${more}`)];
}

/** The last line says how the command ended. The lines before it say why. */
function failureLines(lines: readonly string[], { style, columns }: LineStyle): string[] {
  const output = lines.slice(0, -1);
  const omitted = Math.max(0, output.length - maxFailureLines);
  const more = omitted > 0 ? ` (last ${maxFailureLines} of ${pluralize(output.length, "line")})` : "";
  const reason = printable(oneLine(lines.at(-1) ?? "", Math.max(20, columns - more.length - 5)));
  const head = `  ${style.red(`✗ ${reason}`)}${style.dim(more)}`;
  return [head, ...output.slice(-maxFailureLines).map((line) => `    ${outputRow(line, columns - 4)}`)];
}

const maxDiffLines = 16;

/** Omits the file's name, which is in the line of the call. */
function diffLines(diff: string, style: Style): string {
  const lines = diff
    .trimEnd()
    .split("\n")
    .filter((line) => !/^(---|\+\+\+) /.test(line));
  const painted = lines.slice(0, maxDiffLines).map((line) => {
    const text = `    ${printableText(line)}`;
    return line.startsWith("+") ? style.green(text) : line.startsWith("-") ? style.red(text) : style.dim(text);
  });
  if (lines.length > maxDiffLines) painted.push(style.dim(`    (+${pluralize(lines.length - maxDiffLines, "line")})`));
  return painted.join("\n");
}

/** Lines for events that all printers render alike. Returns [] for other events. */
export function noticeLines(event: Event, { style, columns }: LineStyle): string[] {
  switch (event.type) {
    case "tool.denied":
      return [style.dim(`  ${stripControls(event.text)}`)];
    case "model.retried": {
      const when = `${retryText(event)} (attempt ${event.attempt + 1})`;
      return [style.yellow(`  ${stripControls(event.error.message)}; ${when}`)];
    }
    case "warning.raised":
      return [style.yellow(`  ${stripControls(event.message)}`)];
    case "turn.paused":
      return [style.yellow(`  paused · skein resume ${shortId(event.sessionId)}`)];
    case "turn.resumed":
      return [style.yellow("  resumed")];
    case "session.spawned": {
      const head = `  ↳ session ${shortId(event.session)} · ${stripControls(event.agent)} · `;
      return [style.dim(`${head}${printable(oneLine(event.task, Math.max(20, columns - head.length)))}`)];
    }
    case "turn.ended":
      return event.next === undefined ? [] : [style.yellow(`  ${pendingLine(event.next, event.turn.error)}`)];
    case "ask.closed":
      return [style.dim(`  ${closedAskText(event.ask)}`)];
    default:
      return [];
  }
}

/** The line before the turn of a loop. Returns [] for another turn. */
export function passLines({ loop, agent, model }: Pick<Turn, "loop" | "agent" | "model">, style: Style): string[] {
  if (loop === undefined) return [];
  if (loop.pass === 0) return [style.bold("check before the first pass")];
  return [`${style.bold(`pass ${loop.pass} of ${loop.maxRuns}`)} ${style.dim(`· ${stripControls(agent)}${modelText(model)}`)}`];
}

/** Lines for a check and for a team event. Returns [] for other nodes. */
export function noteLines(node: Pick<Node, "note" | "parts">, lineStyle: LineStyle): string[] {
  return [...checkLines(node, lineStyle), ...teamLines(node, lineStyle), ...handOverLines(node, lineStyle)];
}

/** One line about the agent that takes over. Returns [] for other nodes. */
function handOverLines(node: Pick<Node, "note" | "parts">, { style, columns }: LineStyle): string[] {
  if (node.note?.about !== "hand-over") return [];
  return [style.yellow(`  ${oneLine(stripControls(textOf(node).replace(/^\[/, "")), Math.max(20, columns - 4))}`)];
}

/** The outcome of a check, and the end of its output if it failed. Returns [] for other nodes. */
function checkLines({ note, parts: [part] }: Pick<Node, "note" | "parts">, { style, columns }: LineStyle): string[] {
  if (note?.about !== "check" || part?.kind !== "handle") return [];
  if (note.check.passed) return [`  ${style.green("✓")} ${style.dim(`passed in ${formatDuration(note.check.durationMs)}`)}`];
  // The first line is the command.
  return failureLines(resultLinesOf(part.excerpt).slice(1), { style, columns });
}

function pendingLine({ session, wakeAt }: PendingTurn, error: TurnError | null): string {
  const reason = error === null ? "" : `${stripControls(error.message)}; `;
  const when = wakeAt === null ? "the hub continues the turn" : waitingText(wakeAt, Date.now());
  return `${reason}${when} · skein kill ${shortId(session)} ends it`;
}

/** One line for an event of a team or of a race. Returns [] for other nodes. */
function teamLines(node: Pick<Node, "note" | "parts">, { style, columns }: LineStyle): string[] {
  if (node.note?.about !== "team" && node.note?.about !== "race") return [];
  const { happened } = node.note;
  const text = happened.event === "checkpoint" ? `phase ${happened.phase + 1} has ended` : textOf(node);
  const hasFailed =
    happened.event === "agent_failed" || happened.event === "session_failed" || (happened.event === "racer_ended" && !hasPassed(happened));
  const paint = hasFailed ? style.red : happened.event === "checkpoint" ? style.bold : style.dim;
  return [paint(`  ${oneLine(stripControls(text), Math.max(20, columns - 4))}`)];
}

export function askLines({ id, question, options, expiresAt }: Ask, { style }: LineStyle, answers: "typed" | "elsewhere"): string[] {
  const limit = expiresAt === null ? "" : ` (waits ${formatDuration(Math.max(0, expiresAt - Date.now()))})`;
  const instruction =
    answers === "typed" ? "the next line is the answer" : `skein answer ${shortId(id)} <${options.length > 0 ? "number or text" : "text"}>`;
  return [
    `${style.yellow("?")} ${style.bold(stripControls(question))}`,
    ...options.map((option, index) => `    ${index + 1}  ${stripControls(option)}`),
    style.dim(`  ${instruction}${limit}`),
  ];
}

function closedAskText({ outcome, answer }: Ask): string {
  if (outcome === "answered") return `answered: ${stripControls(answer ?? "")}`;
  return outcome === "expired" ? "not answered in time" : "continued without an answer";
}

/** One line per message that left the queue, and per message that is new in it. */
export function queueLines(oldQueue: readonly QueuedInput[], newQueue: readonly QueuedInput[], { style, columns }: LineStyle): string[] {
  const missingIn = (others: readonly QueuedInput[]) => (input: QueuedInput) => others.every(({ id }) => id !== input.id);
  const line = (state: string) => (input: QueuedInput) =>
    style.dim(`  ${state}: ${printable(oneLine(input.text, Math.max(20, columns - state.length - 4)))}`);
  const delivered = oldQueue.filter(missingIn(newQueue)).map(line("given to the agent"));
  return [...delivered, ...newQueue.filter(missingIn(oldQueue)).map(line("waits for the agent's next step"))];
}

export function errorLines(result: Pick<ResultRecord, "status" | "error">, style: Style): string[] {
  if (result.error === undefined) return [];
  const { message, hint } = result.error;
  const head = style.red(`skein: ${result.status}: ${stripControls(message)}`);
  return hint === undefined ? [head] : [head, style.dim(`       ${stripControls(hint)}`)];
}

export function costOfResult({ cost_usd, cost_is_partial }: ResultRecord): Cost {
  return { costUsd: cost_usd, costIsPartial: cost_is_partial };
}

/** `session` is the label of the session, as in the first line of the turn. */
export function summaryLine(result: ResultRecord, session: string): string {
  const { input, output, cache_read: cacheRead, cache_write: cacheWrite } = result.usage;
  const tokens = tokensText({ input, output, cacheRead, cacheWrite });
  return `${result.status} · ${pluralize(result.steps, "step")} · ${tokens} · ${costText(costOfResult(result))} · ${formatDuration(result.duration_ms)} · session ${session}`;
}
