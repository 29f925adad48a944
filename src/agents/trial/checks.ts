// The checks of a trial. Each looks at the evidence of a turn and returns the problem in one line, or null.
import { join } from "node:path";
import { readRegularFile } from "../../kit/files/safe-file.ts";
import type { TurnStatus } from "../../protocol/api/error.ts";
import type { TrialTurn } from "./trial-site.ts";
import type { RecordedRequest } from "../../scripted-model/model-server.ts";
import { requestedModel } from "../../scripted-model/side-requests.ts";
import type { TrialMarkers } from "./markers.ts";
import type { StoppedCall } from "./stop-call.ts";

export type CheckProblem = string | null;

const maxTextBytes = 64 << 10;

/** `requests` are those of the turn, without side requests. */
export type TrialEvidence = { turn: TrialTurn; requests: readonly RecordedRequest[]; project: string };

export function checkTools({ turn, requests, project }: TrialEvidence, markers: TrialMarkers): CheckProblem {
  if (turn.status !== "ok") return failureOf(turn);
  if (requests.length === 0) return "it reports success, but sent no request to the model";
  if (readText(join(project, markers.file)).trim() !== markers.written) return "it reports success, but the command wrote no file";
  if (!requests.some(({ step, text }) => step > 0 && text.includes(markers.printed)))
    return "the model did not get the output of the command";
  if (!turn.answer.includes(markers.answered)) return "its answer is not the model's answer";
  const parts = turn.nodes.flatMap((node) => node.parts);
  const results = parts.filter((part) => part.kind === "result" && part.text.includes(markers.printed));
  const isRecorded = parts.some((part) => part.kind === "call") && results.length > 0;
  return isRecorded ? null : "its output does not contain the call and its result";
}

export function checkModel({ requests }: TrialEvidence, model: string): CheckProblem {
  const expected = model.slice(model.indexOf("/") + 1);
  const wrong = requests.map(({ path, body }) => requestedModel(path, body)).find((name) => name !== expected);
  return wrong === undefined ? null : `it used model ${wrong} instead of ${expected}`;
}

export function checkResume({ turn, requests }: TrialEvidence, markers: TrialMarkers): CheckProblem {
  if (turn.status !== "ok") return failureOf(turn);
  if (turn.started !== "resume") return "it could not resume its own session";
  if (!isInOneRequest(requests, [...firstTurnMarkers(markers), markers.trunk])) return "the model did not get the conversation so far";
  return isInOneRequest(requests, [markers.fork]) ? "the model got the messages of the fork" : null;
}

export function checkFork({ turn, requests }: TrialEvidence, markers: TrialMarkers, original: string | null): CheckProblem {
  if (turn.status !== "ok") return failureOf(turn);
  if (turn.started !== "fork") return "it could not fork its own session";
  if (turn.nativeId === original) return "the fork is the original session";
  return isInOneRequest(requests, [...firstTurnMarkers(markers), markers.fork]) ? null : "the model did not get the conversation so far";
}

/** Checks the fork's second turn, which runs after the trunk's. */
export function checkBranch({ turn, requests }: TrialEvidence, markers: TrialMarkers): CheckProblem {
  if (turn.status !== "ok") return failureOf(turn);
  if (isInOneRequest(requests, [markers.trunk])) return "the fork got later messages of the trunk";
  return isInOneRequest(requests, [...firstTurnMarkers(markers), markers.fork, markers.again])
    ? null
    : "the fork did not get its own conversation";
}

/** The server refuses every request. The turn must end with the matching status. */
export function checkFailure({ turn, requests }: TrialEvidence, status: TurnStatus): CheckProblem {
  if (requests.length === 0) return turn.status === "ok" ? "it reports success, but sent no request to the model" : failureOf(turn);
  if (turn.status === status) return null;
  return `ended as ${turn.status} instead of ${status}${turn.message === "" ? "" : `: ${turn.message}`}`;
}

/** Checks a turn that was stopped while its command slept. */
export function checkKill({ turn, hasStarted, survivors }: StoppedCall): CheckProblem {
  if (!hasStarted) return turn.status === "cancelled" ? "its command never started" : failureOf(turn);
  if (turn.status !== "cancelled") return `ended as ${turn.status} instead of cancelled`;
  return survivors === 0 ? null : `${survivors} ${survivors === 1 ? "process" : "processes"} still ran after it was stopped`;
}

function isInOneRequest(requests: readonly RecordedRequest[], words: string[]): boolean {
  return requests.some(({ text }) => words.every((word) => text.includes(word)));
}

function firstTurnMarkers({ asked, printed, answered }: TrialMarkers): string[] {
  return [asked, printed, answered];
}

function failureOf(turn: TrialTurn): string {
  return turn.message === "" ? `ended as ${turn.status}` : turn.message;
}

/** Never waits for a pipe: the agent wrote the file. */
function readText(path: string): string {
  try {
    return String(readRegularFile(path, { maxBytes: maxTextBytes, isCut: true }) ?? "");
  } catch {
    return "";
  }
}
