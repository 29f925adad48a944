// For people: the answer on stdout, everything about the run on stderr. On a terminal the answer streams;
// into a pipe only the final answer goes, whole.
import { formatDuration } from "../../kit/duration.ts";
import { oneLine } from "../../kit/text.ts";
import type { Event } from "../../protocol/event.ts";
import { shortId, type ResultPart } from "../../protocol/node.ts";
import type { ResultRecord } from "../../protocol/records.ts";
import type { Door } from "../command.ts";
import { plain, styleOf } from "../style.ts";
import { argumentOf } from "./argument.ts";
import type { Printer, PrintOptions } from "./printer.ts";

export function textPrinter(door: Door, options: PrintOptions): Printer {
  const style = styleOf(door.err);
  const isLive = door.out.isTty && options.stream;
  let midLine = false;
  let shown = false;
  let turn: string | null = null;

  /** One line about the run, on a line of its own even when the answer is streaming. */
  function say(line: string): void {
    if (midLine) door.out.write("\n");
    midLine = false;
    door.err.write(`${line}\n`);
  }
  function answer(text: string): void {
    door.out.write(door.out.isTty ? text.replace(controls, "") : text);
    midLine = !text.endsWith("\n");
    shown = true;
  }

  function event(event: Event): void {
    if (event.type === "turn.started") turn = event.turnId;
    if (event.turnId !== turn) return;
    switch (event.type) {
      case "turn.started":
        return options.talk === "next" ? undefined : say(style.dim(startLine(event)));
      case "text.delta":
        return isLive ? answer(event.text) : undefined;
      case "tool.started":
        return say(
          `${style.cyan("•")} ${style.bold(event.name)} ${oneLine(argumentOf(event.input), Math.max(20, door.err.columns - event.name.length - 4))}`,
        );
      case "tool.denied":
        return say(style.dim(`  ${plain(event.text)}`));
      case "model.retried":
        return say(
          style.yellow(`  ${plain(event.error.message)}; trying again in ${formatDuration(event.waitMs)} (attempt ${event.attempt + 1})`),
        );
      case "warning.raised":
        return say(style.yellow(`  ${plain(event.message)}`));
      case "node.added":
        for (const part of event.node.parts) {
          if (part.kind !== "result") continue;
          say(resultLine(part, door.err.columns, style));
          if (part.display?.includes("\n") === true) say(diffLines(part.display, style));
        }
        return;
      default:
    }
  }

  function finish(result: ResultRecord): void {
    if (!isLive && result.result !== "") answer(result.result);
    if (isLive && !shown && result.result !== "") answer(result.result);
    if (midLine) door.out.write("\n");
    midLine = false;
    const isExpected = options.talk !== undefined && result.status === "cancelled";
    if (result.error !== undefined && !isExpected) {
      door.err.write(`${style.red(`skein: ${result.status}: ${plain(result.error.message)}`)}\n`);
      if (result.error.hint !== undefined) door.err.write(`${style.dim(`       ${plain(result.error.hint)}`)}\n`);
    }
    door.err.write(`${style.dim(summaryLine(result))}\n`);
  }

  return { event, finish };
}

/** A model must not move the cursor or repaint the terminal. */
// oxlint-disable-next-line no-control-regex
const controls = /[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]/g;

function startLine(event: Extract<Event, { type: "turn.started" }>): string {
  const { turn, session } = event;
  const walls = turn.enforced?.tier === "none" && turn.policy.name !== "full" ? " (not enforced)" : "";
  const model = turn.model === null ? "" : ` · ${turn.model}`;
  return `${turn.agent}${model} · policy ${turn.policy.name}${walls} · session ${plain(session.name ?? shortId(session.id))}`;
}

function resultLine(part: ResultPart, columns: number, style: ReturnType<typeof styleOf>): string {
  const lines = part.text.trimEnd().split("\n");
  const more = lines.length > 1 ? ` (+${lines.length - 1} lines)` : "";
  const text = oneLine((part.isError ? lines.at(-1) : lines[0]) ?? "", Math.max(20, columns - more.length - 4));
  return part.isError ? `  ${style.red(`✗ ${text}`)}${style.dim(more)}` : style.dim(`  ${text}${more}`);
}

const mostDiffLines = 16;

/** What an edit changed, without the file's name, which stands above. */
function diffLines(diff: string, style: ReturnType<typeof styleOf>): string {
  const lines = diff
    .trimEnd()
    .split("\n")
    .filter((line) => !/^(---|\+\+\+) /.test(line));
  const shown = lines.slice(0, mostDiffLines).map((line) => {
    const text = `    ${line.replace(controls, "")}`;
    return line.startsWith("+") ? style.green(text) : line.startsWith("-") ? style.red(text) : style.dim(text);
  });
  if (lines.length > mostDiffLines) shown.push(style.dim(`    (+${lines.length - mostDiffLines} lines)`));
  return shown.join("\n");
}

function summaryLine(result: ResultRecord): string {
  const { usage } = result;
  const cached = usage.cache_read > 0 ? ` (${count(usage.cache_read)} cached)` : "";
  const cost = result.cost_usd === null ? "cost unknown" : `$${result.cost_usd.toFixed(4)}`;
  const tokens = `in ${count(usage.input + usage.cache_read + usage.cache_write)}${cached} out ${count(usage.output)}`;
  const steps = result.steps === 1 ? "1 step" : `${result.steps} steps`;
  return `${result.status} · ${steps} · ${tokens} · ${cost} · ${formatDuration(result.duration_ms)} · session ${shortId(result.session_id)}`;
}

function count(tokens: number): string {
  return tokens < 1000 ? String(tokens) : `${(tokens / 1000).toFixed(1)}k`;
}
