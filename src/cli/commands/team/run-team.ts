// skein team run and resume: start a turn of the agent `team`, and follow it on a board, as lines or as records.
// With --detach the hub runs the turn.
import type { Api, TurnStartParams } from "../../../protocol/api/api.ts";
import { exitCodes, Fault } from "../../../protocol/api/error.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import type { TeamTask } from "../../../protocol/team/team.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { readFlags, buildSessionOpen, buildTurn } from "../run/run.ts";
import { fleetRequest, printSent, sendToFleet } from "../fleet/send-run.ts";
import { connectHubFor, detachTurn } from "../run/detach.ts";
import { canDrawBoard } from "../../live/live-board.ts";
import { followTurn } from "../../print/follow-turn.ts";
import { printerFor, type OutputFormat } from "../../print/printer.ts";
import { mergeAfterRun } from "./merge-team.ts";
import { findTeam, explainBusyTeam } from "./find-team.ts";
import { readTeamRequest } from "./team-flags.ts";

export async function runTeam(args: Args, ctx: CommandContext): Promise<number> {
  const flags = readFlags(args, ctx);
  refuseDetachedMerge(args);
  const objective = await readObjective(args, ctx);
  const request = await readTeamRequest(flags.on("fleet") ? withProjectFiles(args) : args, ctx, objective);
  const task: TeamTask = { work: "run", wish: request };
  const { directory } = flags;
  const overrides = { ...(flags.trust === null ? {} : { trust: flags.trust }), cwd: directory };
  const localApi = await ctx.api(overrides);
  const settings = await localApi.config.values();
  const turn = { ...buildTurn(flags, settings, ctx), team: task };
  const open = buildSessionOpen(flags, settings, objective, { toolLevel: turn.toolLevel, role: null });
  if (!flags.on("fleet")) await localApi.turn.check({ ...turn, agent: turn.agent ?? open.agent, isNew: true, directory });
  const api = flags.on("fleet")
    ? await ctx.api({ ...overrides, store: "fleet" })
    : flags.on("detach")
      ? await connectHubFor(ctx, overrides)
      : localApi;
  const name = flags.text("name");
  const session = await api.session.open({ ...open, ...(name === null ? {} : { name }) });
  return flags.on("fleet") ? sendTeam({ api, session, args, ctx }, turn) : startTeamTurn({ api, session, args, ctx }, turn);
}

export async function resumeTeam(args: Args, ctx: CommandContext): Promise<number> {
  const flags = readFlags(args, ctx);
  refuseDetachedMerge(args);
  const localApi = await ctx.api();
  const session = await findTeam(localApi, ctx, args.positionals[1]);
  const { isKept } = await localApi.team.show({ session: session.id });
  if (!isKept) throw new Fault("usage", "this team can't be resumed: its directory was cleaned", { hint: "skein team run starts another" });
  const turn = { ...buildTurn(flags, await localApi.config.values(), ctx), team: { work: "resume" } satisfies TeamTask };
  const api = flags.on("detach") ? await connectHubFor(ctx, { cwd: session.directory }) : localApi;
  return startTeamTurn({ api, session, args, ctx }, turn);
}

function refuseDetachedMerge(args: Args): void {
  if (args.flags["merge"] && args.flags["fleet"])
    throw new Fault("usage", "--fleet and --merge exclude each other: the work is in the worker's copy of the project", {
      hint: "bring it here with: skein fleet pull <session>",
    });
  if (args.flags["merge"] && args.flags["detach"])
    throw new Fault("usage", "--merge waits for the end, and --detach does not", { hint: "merge the work later with: skein team merge" });
}

async function readObjective(args: Args, ctx: CommandContext): Promise<string> {
  const [, objective] = args.positionals;
  if (objective === undefined) throw new Fault("usage", "team run needs an objective", { hint: 'skein team run "the objective"' });
  const text = objective === "-" ? await ctx.stdin.text({ wait: true }) : objective;
  if (text.trim() === "") throw new Fault("usage", "the objective is empty");
  return text;
}

type Turn = Omit<TurnStartParams, "session" | "prompt">;

type TeamCommand = { api: Api; session: Session; args: Args; ctx: CommandContext };

async function startTeamTurn(command: TeamCommand, turn: Turn): Promise<number> {
  const { api, session, args, ctx } = command;
  const { format } = readFlags(args, ctx);
  const events = api.turn.start({ ...turn, session: session.id, prompt: null });
  if (args.flags["detach"]) return explainBusyTeam(session, detachTurn(events, api, ctx, format));
  let stopSignal: "SIGINT" | "SIGTERM" | null = null;
  ctx.onStop((signal) => {
    stopSignal = signal;
    void api.turn.cancel({ session: session.id });
  });
  const result = await explainBusyTeam(session, followOnBoard(command, events, format));
  if (result.status !== "ok") return stopSignal === "SIGTERM" && result.status === "cancelled" ? 143 : exitCodes[result.status];
  return args.flags["merge"] ? mergeAfterRun(api, session, ctx, format) : 0;
}

/** The files on a worker have no git history, from which a worktree could be made. */
function withProjectFiles(args: Args): Args {
  const { workspace } = args.flags;
  if (workspace === undefined) return { ...args, flags: { ...args.flags, workspace: "project" } };
  if (workspace !== "worktree") return args;
  throw new Fault("usage", "--fleet and --workspace worktree exclude each other: the files on a worker have no git history", {
    hint: "leave --workspace out: the members then work in the same files, one after another with --strategy pipeline",
  });
}

/** The members work in the worker's copy of the project, from where `skein fleet pull` brings their work. */
async function sendTeam({ api, session, args, ctx }: TeamCommand, turn: Turn): Promise<number> {
  const { format, directory } = readFlags(args, ctx);
  const request = { session, directory, turn: { ...turn, session: session.id, prompt: null } };
  const { fleet, run, afterSeq } = await sendToFleet(ctx, fleetRequest(args.flags, ctx, request));
  if (args.flags["detach"]) return printSent(ctx, { run, session: session.id, api, isJson: format === "json" });
  let stopSignal: "SIGINT" | "SIGTERM" | null = null;
  ctx.onStop((signal) => {
    stopSignal = signal;
    void fleet.stop(session.id);
  });
  const result = await followTurn(fleet.follow(session.id, afterSeq), await printerFor(format, ctx, { stream: true, tools: [] }));
  return stopSignal === "SIGTERM" && result.status === "cancelled" ? 143 : exitCodes[result.status];
}

async function followOnBoard({ api, session, args, ctx }: TeamCommand, events: AsyncIterable<Event>, format: OutputFormat) {
  if (format !== "text" || args.flags["no-board"] || !canDrawBoard(ctx, await api.config.values()))
    return followTurn(events, await printerFor(format, ctx, { stream: true, tools: [] }));
  const [{ teamBoard }, { textPrinter }] = await Promise.all([import("./live-board.ts"), import("../../print/text.ts")]);
  const board = teamBoard(api, session.id, ctx, (screens) => textPrinter(screens, { stream: false, tools: [] }));
  try {
    return await followTurn(events, board);
  } finally {
    await board.close();
  }
}
