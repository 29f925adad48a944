// run --fleet: sends the files of the project and the task to the fleet, and follows the turn on whichever worker takes it.
import type { Api } from "../../../protocol/api/api.ts";
import type { FleetCommands, FleetRunRequest } from "../../../protocol/fleet/fleet-commands.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Args, CommandContext, Flag } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const fleetFlags: readonly Flag[] = [
  { name: "fleet", summary: "run it on a worker of the fleet; the project's files travel there, ignored files do not" },
  { name: "needs", value: "label", summary: "with --fleet: only on a worker with this label" },
  { name: "priority", value: "n", summary: "with --fleet: runs with a higher number start first (default 0)" },
];

type FlagValues = Args["flags"];

/** Throws for flags that mean nothing on another machine. */
export function checkFleetFlags(flags: FlagValues): void {
  if (flags["fleet"] === undefined) {
    const alone = ["needs", "priority"].find((name) => flags[name] !== undefined);
    if (alone !== undefined) throw new Fault("usage", `--${alone} needs --fleet`);
    return;
  }
  const others = ["ephemeral", "queue", "continue", "resume", "fork", "at", "plan", "worktree", "transcript-dir", "output-file"];
  const other = others.find((name) => flags[name] !== undefined && !(name === "resume" && typeof flags[name] === "string"));
  if (other !== undefined) throw new Fault("usage", `--fleet and --${other} exclude each other`);
  readPriority(flags);
}

function readPriority(flags: FlagValues): number {
  const text = flags["priority"];
  if (text === undefined) return 0;
  const priority = Number(text);
  if (Number.isInteger(priority) && Math.abs(priority) <= 1000) return priority;
  throw new Fault("usage", `--priority can't be "${String(text)}"`, { hint: "it is a whole number from -1000 to 1000" });
}

/** The person whose runs count together for caps. */
export function fleetOwner({ env }: CommandContext): string {
  return env["USER"] || env["LOGNAME"] || `user ${process.getuid?.() ?? "unknown"}`;
}

export function fleetRequest(
  flags: FlagValues,
  ctx: CommandContext,
  { session, directory, turn }: Pick<FleetRunRequest, "session" | "turn" | "directory">,
): FleetRunRequest {
  const needs = typeof flags["needs"] === "string" ? flags["needs"] : null;
  return {
    session,
    directory: ctx.projectOf(directory),
    turn,
    owner: fleetOwner(ctx),
    needs,
    priority: readPriority(flags),
    startAfter: null,
  };
}

/** Sends the run. Returns its commands, to follow it. */
export async function sendToFleet(
  ctx: CommandContext,
  request: FleetRunRequest,
): Promise<{ fleet: FleetCommands; run: string; afterSeq: number }> {
  const fleet = await ctx.fleet();
  const { run, leftOut, afterSeq, isContinued } = await fleet.send(request);
  if (isContinued) ctx.err.write("skein: continues with the files of its last run; changes made here since then are not sent\n");
  if (leftOut.length > 0) {
    const names = leftOut.slice(0, 5).map(stripControls).join(", ");
    ctx.err.write(`skein: too large to travel, so the worker does not have them: ${names}${leftOut.length > 5 ? ", ..." : ""}\n`);
  }
  return { fleet, run, afterSeq };
}

/** Prints how to find the run. */
export async function printSent(
  ctx: CommandContext,
  { run, session, api, isJson }: { run: string; session: string; api: Api; isJson: boolean },
): Promise<number> {
  await api.close();
  if (isJson) ctx.out.write(jsonText({ status: "queued", run_id: run, session_id: session }));
  else {
    ctx.out.write(`${session}\n`);
    ctx.err.write(
      styleOf(ctx.err).dim(`waits for a worker of the fleet (run ${shortId(run)})
  skein logs -f ${shortId(session)}      watches it, from any machine
  skein fleet pull ${shortId(session)}   brings its files here as a commit
`),
    );
  }
  return 0;
}
