// What each point of the contract looks at. A check gives back what is wrong in one line, or null.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { familyMembers } from "../../kit/processes.ts";
import type { TurnStatus } from "../../protocol/error.ts";
import { type Ended, type Seat, takeTurn } from "./seat.ts";
import type { ModelServer } from "./server.ts";
import { modelOf } from "./server/side.ts";
import { prompts, type Words } from "./words.ts";

export type Problem = string | null;

export function checkTools(ended: Ended, { server, project }: Seat, words: Words): Problem {
  if (ended.status !== "ok") return failureOf(ended);
  if (server.main().length === 0) return "it says that it is done, but it asked no model";
  if (textIn(join(project, words.file)).trim() !== words.written) return "it says that it is done, but the command has left no file";
  if (!server.main().some(({ step, text }) => step > 0 && text.includes(words.printed)))
    return "the model was not told what the command printed";
  if (!ended.answer.includes(words.answered)) return "its answer is not what the model said";
  const parts = ended.nodes.flatMap((node) => node.parts);
  const results = parts.filter((part) => part.kind === "result" && part.text.includes(words.printed));
  const isRecorded = parts.some((part) => part.kind === "call") && results.length > 0;
  return isRecorded ? null : "what it did is not in what it prints";
}

export function checkModel({ server }: Seat, model: string): Problem {
  const wanted = model.slice(model.indexOf("/") + 1);
  const other = server
    .main()
    .map(({ path, body }) => modelOf(path, body))
    .find((asked) => asked !== wanted);
  return other === undefined ? null : `told to ask ${wanted}, it asked ${other}`;
}

export function checkResume(ended: Ended, { server }: Seat, words: Words): Problem {
  if (ended.status !== "ok") return failureOf(ended);
  if (ended.started !== "resume") return "it could not go on in its own session";
  if (!wasTold(server, [...firstWords(words), words.trunk])) return "the model was not told the earlier conversation";
  return wasTold(server, [words.fork]) ? "the model was told what was said on the fork" : null;
}

export function checkFork(ended: Ended, { server }: Seat, words: Words, original: string | null): Problem {
  if (ended.status !== "ok") return failureOf(ended);
  if (ended.started !== "fork") return "it could not fork its own session";
  if (ended.nativeId === original) return "the fork is the original session";
  return wasTold(server, [...firstWords(words), words.fork]) ? null : "the model was not told the earlier conversation";
}

/** The fork goes on after the trunk did. */
export function checkBranch(ended: Ended, { server }: Seat, words: Words): Problem {
  if (ended.status !== "ok") return failureOf(ended);
  if (wasTold(server, [words.trunk])) return "the fork was told what was said on the trunk after it";
  return wasTold(server, [...firstWords(words), words.fork, words.again]) ? null : "the fork was not told its own conversation";
}

/** A server that refuses: the turn must end as what it is, and ask nothing of the machine. */
export function bearsFailure(ended: Ended, { server }: Seat, status: TurnStatus): Problem {
  if (server.main().length === 0) return ended.status === "ok" ? "it asked no model" : failureOf(ended);
  if (ended.status === status) return null;
  return `ended as ${ended.status} instead of ${status}${ended.message === "" ? "" : `: ${ended.message}`}`;
}

/** Stopped while its command sleeps: it ends, and nothing of it is left. */
export async function checkKill(seat: Seat, session: string, words: Words, limitMs: number): Promise<Problem> {
  const begun = join(seat.project, words.begun);
  let isOver = false;
  const turn = takeTurn(seat, session, prompts.kill(words), limitMs).finally(() => (isOver = true));
  while (!isOver && !existsSync(begun)) await Bun.sleep(50);
  await seat.api.turn.cancel({ session });
  const ended = await turn;
  if (!existsSync(begun)) return ended.status === "cancelled" ? "its command never began" : failureOf(ended);
  if (ended.status !== "cancelled") return `ended as ${ended.status} instead of cancelled`;
  const left = await leftOf(session, words.sleep);
  return left === 0 ? null : `${left} ${left === 1 ? "process" : "processes"} left after it was stopped`;
}

const settleMs = 3_000;

async function leftOf(session: string, sleep: string): Promise<number> {
  const giveUpAt = performance.now() + settleMs;
  for (;;) {
    const left = new Set([...familyMembers({ root: null, mark: `SKEIN_SESSION_ID=${session}` }), ...sleeping(sleep)]);
    if (left.size === 0 || performance.now() >= giveUpAt) return left.size;
    await Bun.sleep(50);
  }
}

/** Whoever has the time it sleeps among its arguments, with or without the environment it was started with. */
function sleeping(sleep: string): number[] {
  if (process.platform !== "linux") {
    const lines = Bun.spawnSync(["ps", "-axww", "-o", "pid=,command="]).stdout.toString().split("\n");
    return lines.filter((line) => line.includes(sleep)).map((line) => Number.parseInt(line, 10));
  }
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  return pids.filter((pid) => textIn(`/proc/${pid}/cmdline`).includes(sleep)).map(Number);
}

/** All of it in one request. */
function wasTold(server: ModelServer, all: string[]): boolean {
  return server.main().some(({ text }) => all.every((word) => text.includes(word)));
}

function firstWords({ asked, printed, answered }: Words): string[] {
  return [asked, printed, answered];
}

function failureOf(ended: Ended): string {
  return ended.message === "" ? `ended as ${ended.status}` : ended.message;
}

function textIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
