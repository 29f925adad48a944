// Stops a turn while its command runs, and counts the processes that survive.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pollUntil } from "../../kit/flow/sleep.ts";
import { familyMembers } from "../../kit/process/processes.ts";
import { type TrialTurn, type TrialSite, runTrialTurn } from "./trial-site.ts";
import { trialPrompts, type TrialMarkers } from "./markers.ts";

const settleMs = 3_000;

/** `survivors` is the number of processes that still run 3 s after the end of the turn. */
export type StoppedCall = { turn: TrialTurn; hasStarted: boolean; survivors: number };

export async function stopDuringCall(site: TrialSite, session: string, markers: TrialMarkers, limitMs: number): Promise<StoppedCall> {
  const startFile = join(site.project, markers.begun);
  let hasEnded = false;
  const running = runTrialTurn(site, session, trialPrompts.kill(markers), limitMs).finally(() => (hasEnded = true));
  while (!hasEnded && !existsSync(startFile)) await Bun.sleep(50);
  await site.api.turn.cancel({ session });
  const turn = await running;
  let survivors = 0;
  await pollUntil(settleMs, async () => {
    survivors = countProcesses(session, markers);
    return survivors === 0;
  });
  return { turn, hasStarted: existsSync(startFile), survivors };
}

/** Finds processes by the session in their environment, or by the sleep in their arguments if the environment is lost. */
function countProcesses(session: string, { sleep }: TrialMarkers): number {
  return new Set([...familyMembers({ root: null, envTag: `SKEIN_SESSION_ID=${session}` }), ...findSleeping(sleep)]).size;
}

function findSleeping(sleep: string): number[] {
  if (process.platform !== "linux") {
    const lines = Bun.spawnSync(["/bin/ps", "-axww", "-o", "pid=,command="]).stdout.toString().split("\n");
    return lines.filter((line) => line.includes(sleep)).map((line) => Number.parseInt(line, 10));
  }
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  return pids.filter((pid) => argumentsOf(pid).includes(sleep)).map(Number);
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
