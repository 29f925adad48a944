// What each point of the contract looks at, over what a turn left behind. A check gives back what is wrong in one line,
// or null.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnStatus } from "../../protocol/api/error.ts";
import type { TrialTurn } from "./trial-site.ts";
import type { RecordedRequest } from "../../scripted-model/model-server.ts";
import { requestedModel } from "../../scripted-model/side-requests.ts";
import type { TrialMarkers } from "./markers.ts";

export type CheckProblem = string | null;

/** What the model was asked in the turn, without side requests, and where the agent worked. */
export type TrialEvidence = { ended: TrialTurn; requests: readonly RecordedRequest[]; project: string };

export function checkTools({ ended, requests, project }: TrialEvidence, markers: TrialMarkers): CheckProblem {
  if (ended.status !== "ok") return failureOf(ended);
  if (requests.length === 0) return "it says that it is done, but it asked no model";
  if (textIn(join(project, markers.file)).trim() !== markers.written) return "it says that it is done, but the command has left no file";
  if (!requests.some(({ step, text }) => step > 0 && text.includes(markers.printed)))
    return "the model was not told what the command printed";
  if (!ended.answer.includes(markers.answered)) return "its answer is not what the model said";
  const parts = ended.nodes.flatMap((node) => node.parts);
  const results = parts.filter((part) => part.kind === "result" && part.text.includes(markers.printed));
  const isRecorded = parts.some((part) => part.kind === "call") && results.length > 0;
  return isRecorded ? null : "what it did is not in what it prints";
}

export function checkModel({ requests }: TrialEvidence, model: string): CheckProblem {
  const wanted = model.slice(model.indexOf("/") + 1);
  const other = requests.map(({ path, body }) => requestedModel(path, body)).find((asked) => asked !== wanted);
  return other === undefined ? null : `told to ask ${wanted}, it asked ${other}`;
}

export function checkResume({ ended, requests }: TrialEvidence, words: TrialMarkers): CheckProblem {
  if (ended.status !== "ok") return failureOf(ended);
  if (ended.started !== "resume") return "it could not go on in its own session";
  if (!wasTold(requests, [...firstWords(words), words.trunk])) return "the model was not told the earlier conversation";
  return wasTold(requests, [words.fork]) ? "the model was told what was said on the fork" : null;
}

export function checkFork({ ended, requests }: TrialEvidence, markers: TrialMarkers, original: string | null): CheckProblem {
  if (ended.status !== "ok") return failureOf(ended);
  if (ended.started !== "fork") return "it could not fork its own session";
  if (ended.nativeId === original) return "the fork is the original session";
  return wasTold(requests, [...firstWords(markers), markers.fork]) ? null : "the model was not told the earlier conversation";
}

/** The fork goes on after the trunk did. */
export function checkBranch({ ended, requests }: TrialEvidence, words: TrialMarkers): CheckProblem {
  if (ended.status !== "ok") return failureOf(ended);
  if (wasTold(requests, [words.trunk])) return "the fork was told what was said on the trunk after it";
  return wasTold(requests, [...firstWords(words), words.fork, words.again]) ? null : "the fork was not told its own conversation";
}

/** A server that refuses: the turn must end as what it is. */
export function checkFailure({ ended, requests }: TrialEvidence, status: TurnStatus): CheckProblem {
  if (requests.length === 0) return ended.status === "ok" ? "it says that it is done, but it asked no model" : failureOf(ended);
  if (ended.status === status) return null;
  return `ended as ${ended.status} instead of ${status}${ended.message === "" ? "" : `: ${ended.message}`}`;
}

/** Stopped while its command slept; `left` counts the processes that were alive afterwards. */
export function checkKill(ended: TrialTurn, hadBegun: boolean, left: number): CheckProblem {
  if (!hadBegun) return ended.status === "cancelled" ? "its command never began" : failureOf(ended);
  if (ended.status !== "cancelled") return `ended as ${ended.status} instead of cancelled`;
  return left === 0 ? null : `${left} ${left === 1 ? "process was" : "processes were"} left when it was stopped`;
}

/** All of it in one request. */
function wasTold(requests: readonly RecordedRequest[], all: string[]): boolean {
  return requests.some(({ text }) => all.every((word) => text.includes(word)));
}

function firstWords({ asked, printed, answered }: TrialMarkers): string[] {
  return [asked, printed, answered];
}

function failureOf(ended: TrialTurn): string {
  return ended.message === "" ? `ended as ${ended.status}` : ended.message;
}

function textIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
