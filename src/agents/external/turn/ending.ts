// Failure truth: from what was seen of a CLI (its events, its exit, the end of its stderr, our own stop) to how the
// turn ended. One pure function; no CLI's exit code is believed alone.
import { oneLine } from "../../../kit/text/cut-text.ts";
import type { TurnError, TurnStatus } from "../../../protocol/api/error.ts";
import type { TurnEnd } from "../../../protocol/tree/turn.ts";
import type { Adapter } from "../adapters/adapter.ts";

export type CliEvidence = {
  adapter: Pick<Adapter, "name" | "failureOf">;
  /** The last message that was an answer. */
  answer: string;
  /** What the CLI itself said of the turn's end; null when it said nothing. */
  done: { isError: boolean; answer?: string; message?: string } | null;
  /** The last failure it told and did not get over: an answer after it clears it. */
  failed: { message: string; kind?: TurnStatus } | null;
  exitCode: number | null;
  signal: string | null;
  stderr: string;
  /** Lines of stdout, and how many of them were none of its events. */
  lines: number;
  garbage: number;
  /** Who stopped it: a person or a limit outside of it, or its budget. */
  stopped: "cancelled" | TurnError | null;
  /** How the vendor failed the last request, as the gateway saw it. */
  vendorError: TurnError | null;
};

export function judgeEnding(evidence: CliEvidence): TurnEnd {
  const answer = evidence.done?.answer || evidence.answer;
  const kept = answer === "" ? {} : { answer };
  if (evidence.stopped === "cancelled")
    return { status: "cancelled", error: { kind: "cancelled", message: "the turn was stopped" }, ...kept };
  if (evidence.stopped !== null) return { status: evidence.stopped.kind, error: evidence.stopped, ...kept };
  const problem = withVendorError(problemOf(evidence, answer), evidence);
  return problem === null ? { status: "ok", answer } : { status: problem.kind, error: problem, ...kept };
}

/** What the vendor did is known better by us than by a CLI, which may take our gateway's words for the vendor's. */
function withVendorError(problem: TurnError | null, { adapter, vendorError: trouble }: CliEvidence): TurnError | null {
  if (problem === null || trouble === null || problem.kind === "killed" || problem.kind === trouble.kind) return problem;
  return { hint: goOn, ...trouble, message: `${adapter.name}: ${trouble.message}` };
}

/** An explicit good end with an answer counts, whatever the exit code says after it. */
function problemOf(evidence: CliEvidence, answer: string): TurnError | null {
  const { name } = evidence.adapter;
  if (evidence.failed !== null) return errorFromMessage(evidence, evidence.failed.message, evidence.failed.kind);
  if (evidence.done?.isError === true)
    return errorFromMessage(evidence, evidence.done.message || answer || lastWords(evidence) || "it failed");
  if (evidence.done !== null && answer.trim() !== "") return null;
  const signal = evidence.signal ?? signalIn(evidence.exitCode);
  if (signal !== null) return { kind: "killed", message: `${name} was killed by ${signal}`, hint: goOn };
  if (evidence.exitCode !== 0) return errorFromMessage(evidence, lastWords(evidence) || `it ended with exit code ${evidence.exitCode}`);
  if (evidence.lines > 0 && evidence.garbage === evidence.lines)
    return broken(`${name} printed nothing that skein can read`, "run skein doctor --agents");
  if (evidence.done !== null) return broken(`${name} ended without an answer`, goOn);
  const said = lastWords(evidence);
  return broken(
    `${name} ended ${evidence.lines === 0 ? "without a word" : "before its turn was over"}${said === "" ? "" : `: ${said}`}`,
    goOn,
  );
}

/** A shell before it, or its own hand, turns a signal into a number. Other numbers above 128 are some CLI's own. */
const signals: Record<number, string> = {
  129: "SIGHUP",
  130: "SIGINT",
  131: "SIGQUIT",
  132: "SIGILL",
  134: "SIGABRT",
  135: "SIGBUS",
  136: "SIGFPE",
  137: "SIGKILL",
  139: "SIGSEGV",
  141: "SIGPIPE",
  143: "SIGTERM",
};

function signalIn(exitCode: number | null): string | null {
  return exitCode === null ? null : (signals[exitCode] ?? null);
}

const goOn = "go on with --resume, or hand the session to another agent with -a";

const hints: Partial<Record<TurnStatus, (agent: string) => string>> = {
  auth: () => "see skein auth status: the key is missing, wrong, or not allowed to use this model",
  "rate-limited": () => "wait, or use another agent or model with -a or -m",
  overloaded: () => "wait, or use another agent or model with -a or -m",
  network: () => "check the network and the base URL",
  "too-long": () => "start again with --fresh, or hand over to a model with a larger window",
  refused: () => "rephrase the task, or use another agent with -a",
};

function errorFromMessage(evidence: CliEvidence, message: string, kind?: TurnStatus): TurnError {
  const known = kind ?? evidence.adapter.failureOf(message) ?? evidence.adapter.failureOf(evidence.stderr) ?? "broken";
  const hint = hints[known]?.(evidence.adapter.name) ?? goOn;
  return { kind: known, message: `${evidence.adapter.name}: ${oneLine(message, 400)}`, hint };
}

function broken(message: string, hint: string): TurnError {
  return { kind: "broken", message, hint };
}

/** The last line of stderr that names an error, or else the last that is no frame of a stack, warning or farewell of a runtime. */
function lastWords({ stderr }: CliEvidence): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^at |warning|^(Node\.js|Bun) v\d|^[\^~\d|\s}\])]+$/i.test(line));
  return oneLine(lines.findLast((line) => /error|fail|can.?not|can't/i.test(line)) ?? lines.at(-1) ?? "", 300);
}
