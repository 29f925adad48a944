// Decides how a turn of a CLI ended, from its events, its exit, the end of its stderr and our own stop. Pure.
// An exit code alone never decides.
import { constants } from "node:os";
import { oneLine } from "../../../kit/text/cut-text.ts";
import { resumeCommand, type TurnError, type TurnStatus } from "../../../protocol/api/error.ts";
import type { TurnEnd } from "../../../protocol/tree/turn.ts";
import type { Adapter } from "../adapters/adapter.ts";
import { resetFromWords } from "../../../models/limits/reset-words.ts";
import { isLimitError } from "../../../protocol/limits/at-limit.ts";
import { matchFailure } from "../adapters/failure-patterns.ts";

export type CliEvidence = {
  adapter: Pick<Adapter, "name" | "failures">;
  /** Text of the last answer. */
  answer: string;
  /** Set if the CLI reported a successful end of the turn. */
  done: { answer?: string } | null;
  /** The last reported failure. A later answer clears it. */
  failed: { message: string; kind?: TurnStatus | null } | null;
  exitCode: number | null;
  signal: string | null;
  stderr: string;
  /** Number of lines on stdout. */
  lines: number;
  /** Number of lines that are not events of the CLI. */
  garbage: number;
  /** The start and the end of these lines. */
  garbageText: string;
  /** The file with the whole output; null if none is written. */
  log: string | null;
  /** Why skein stopped the CLI: a cancelled turn, or the error of a limit. */
  stopped: "cancelled" | TurnError | null;
  /** The vendor's error for the last request, from the gateway. */
  vendorError: TurnError | null;
  /** The end of the used-up limit that the CLI reported in its events. */
  limitResetAt?: number;
  now: number;
};

export function judgeEnding(evidence: CliEvidence): TurnEnd {
  const answer = evidence.done?.answer || evidence.answer || rawOutput(evidence);
  const withAnswer = answer === "" ? {} : { answer };
  if (evidence.stopped === "cancelled")
    return { status: "cancelled", error: { kind: "cancelled", message: "the turn was stopped" }, ...withAnswer };
  if (evidence.stopped !== null) return { status: evidence.stopped.kind, error: evidence.stopped, ...withAnswer };
  const found = withVendorError(problemOf(evidence, evidence.done?.answer || evidence.answer), evidence);
  const problem = found === null ? null : withResetTime(found, evidence);
  return problem === null ? { status: "ok", answer } : { status: problem.kind, error: problem, ...withAnswer };
}

/** Prefers the vendor's own error: a CLI may mistake a message of our gateway for the vendor's. */
function withVendorError(problem: TurnError | null, { adapter, vendorError }: CliEvidence): TurnError | null {
  if (problem === null || vendorError === null || problem.kind === "killed" || problem.kind === vendorError.kind) return problem;
  return { hint: continueHint, ...vendorError, message: `${adapter.name}: ${vendorError.message}` };
}

/** The error with the end of the limit: from the vendor's answer, from the CLI's events, or from its words. */
function withResetTime(error: TurnError, { vendorError, limitResetAt, failed, stderr, now }: CliEvidence): TurnError {
  if (!isLimitError(error) || error.resetAt !== undefined) return error;
  const words = resetFromWords(failed?.message ?? error.message, now) ?? resetFromWords(stderr.slice(-2000), now);
  const resetAt = vendorError?.resetAt ?? limitResetAt ?? words;
  return resetAt === undefined ? error : { ...error, resetAt };
}

/** A reported success with an answer counts, with any exit code. */
function problemOf(evidence: CliEvidence, answer: string): TurnError | null {
  const { name } = evidence.adapter;
  if (evidence.failed !== null) return errorFromMessage(evidence, evidence.failed.message, evidence.failed.kind);
  if (evidence.done !== null && answer.trim() !== "") return null;
  const signal = evidence.signal ?? signalIn(evidence.exitCode);
  if (signal !== null) return { kind: "killed", message: `${name} was killed by ${signal}`, hint: continueHint };
  if (evidence.exitCode !== 0) return errorFromMessage(evidence, lastErrorLine(evidence) || `it ended with exit code ${evidence.exitCode}`);
  if (isOnlyGarbage(evidence)) {
    const where = evidence.log === null ? "" : `; its output is in ${evidence.log}`;
    return broken(`${name} printed nothing that skein can read${where}`, "the result has its output as it is; run skein doctor --agents");
  }
  if (evidence.done !== null) return broken(`${name} ended without an answer`, continueHint);
  const reason = lastErrorLine(evidence);
  return broken(
    `${name} ended ${evidence.lines === 0 ? "without output" : "before its turn was over"}${reason === "" ? "" : `: ${reason}`}`,
    continueHint,
  );
}

function isOnlyGarbage({ lines, garbage }: CliEvidence): boolean {
  return lines > 0 && garbage === lines;
}

/** Output without any event, for the user to read. Empty if the CLI printed an event, because the rest is then noise. */
function rawOutput(evidence: CliEvidence): string {
  return isOnlyGarbage(evidence) ? evidence.garbageText.trim() : "";
}

/** Signals that a shell or a CLI reports as 128 plus their number. Other codes above 128 have meanings of their own. */
const reportedSignals = "SIGHUP SIGINT SIGQUIT SIGILL SIGABRT SIGBUS SIGFPE SIGKILL SIGSEGV SIGPIPE SIGTERM".split(" ") as NodeJS.Signals[];

function signalIn(exitCode: number | null): string | null {
  return reportedSignals.find((name) => exitCode === 128 + constants.signals[name]) ?? null;
}

const continueHint = `continue with \`${resumeCommand}\`, or hand the session to another agent with -a`;

const hints: Partial<Record<TurnStatus, string>> = {
  auth: "see skein auth status: the key is missing, wrong, or not allowed to use this model",
  "rate-limited": "wait, or use another agent or model with -a or -m",
  overloaded: "wait, or use another agent or model with -a or -m",
  network: "check the network and the base URL",
  "too-long": "start again with --fresh, or hand over to a model with a larger window",
  refused: "rephrase the task, or use another agent with -a",
};

function errorFromMessage({ adapter, stderr }: CliEvidence, message: string, kind?: TurnStatus | null): TurnError {
  const status = kind ?? matchFailure(message, adapter.failures) ?? matchFailure(stderr, adapter.failures) ?? "broken";
  return { kind: status, message: `${adapter.name}: ${oneLine(message, 400)}`, hint: hints[status] ?? continueHint };
}

function broken(message: string, hint: string): TurnError {
  return { kind: "broken", message, hint };
}

/** The last line of stderr that names an error, else the last line that is no stack frame, warning or runtime version. */
function lastErrorLine({ stderr }: CliEvidence): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^at |warning|^(Node\.js|Bun) v\d|^[\^~\d|\s}\])]+$/i.test(line));
  return oneLine(lines.findLast((line) => /error|fail|can.?not|can't/i.test(line)) ?? lines.at(-1) ?? "", 300);
}
