// Stops a turn while its command runs, and looks who is alive afterwards.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { familyMembers } from "../../kit/process/processes.ts";
import { type TrialTurn, type TrialSite, takeTrialTurn } from "./trial-site.ts";
import { trialPrompts, type TrialMarkers } from "./markers.ts";

const settleMs = 3_000;

export async function stopDuringCall(
  site: TrialSite,
  session: string,
  markers: TrialMarkers,
  limitMs: number,
): Promise<{ ended: TrialTurn; hadBegun: boolean; left: number }> {
  const begun = join(site.project, markers.begun);
  let isOver = false;
  const turn = takeTrialTurn(site, session, trialPrompts.kill(markers), limitMs).finally(() => (isOver = true));
  while (!isOver && !existsSync(begun)) await Bun.sleep(50);
  await site.api.turn.cancel({ session });
  const ended = await turn;
  const giveUpAt = performance.now() + settleMs;
  let left = livingOf(session, markers);
  while (left > 0 && performance.now() < giveUpAt) {
    await Bun.sleep(50);
    left = livingOf(session, markers);
  }
  return { ended, hadBegun: existsSync(begun), left };
}

/** By the session in the environment, or by how long it sleeps: the environment may be gone. */
function livingOf(session: string, { sleep }: TrialMarkers): number {
  return new Set([...familyMembers({ root: null, envTag: `SKEIN_SESSION_ID=${session}` }), ...sleeping(sleep)]).size;
}

function sleeping(sleep: string): number[] {
  if (process.platform !== "linux") {
    const lines = Bun.spawnSync(["ps", "-axww", "-o", "pid=,command="]).stdout.toString().split("\n");
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
