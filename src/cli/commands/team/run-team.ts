// skein team run and resume: a turn of the agent `team`, followed on a board, line by line, as records, or left to the hub.
import type { Api, TurnStartParams } from "../../../protocol/api/api.ts";
import { exitCodes, Fault } from "../../../protocol/api/error.ts";
import type { TeamTask } from "../../../protocol/team/team.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { readFlags, buildSessionOpen, buildTurn } from "../run/run.ts";
import { connectHubFor, detachTurn } from "../run/detach.ts";
import { followTurn } from "../../print/follow-turn.ts";
import { printerFor, type OutputFormat } from "../../print/printer.ts";
import { mergeAfterRun } from "./merge-team.ts";
import { findTeam, explainBusyTeam } from "./find-team.ts";
import { readTeamRequest } from "./team-flags.ts";

export async function runTeam(args: Args, ctx: CommandContext): Promise<number> {
  const flags = readFlags(args, ctx);
  refuseDetachedMerge(args);
  const objective = await objectiveOf(args, ctx);
  const task: TeamTask = { work: "run", wish: readTeamRequest(args, ctx, objective) };
  const { directory } = flags;
  const place = { ...(flags.trust === null ? {} : { trust: flags.trust }), cwd: directory };
  const here = await ctx.api(place);
  const settings = await here.config.values();
  const turn = { ...buildTurn(flags, settings, ctx), team: task };
  const open = buildSessionOpen(flags, settings, objective, { toolLevel: turn.toolLevel, role: null });
  await here.turn.check({ ...turn, agent: turn.agent ?? open.agent, isNew: true, directory });
  const api = flags.on("detach") ? await connectHubFor(ctx, place) : here;
  const name = flags.text("name");
  const session = await api.session.open({ ...open, ...(name === null ? {} : { name }) });
  return take(api, session, turn, args, ctx);
}

export async function resumeTeam(args: Args, ctx: CommandContext): Promise<number> {
  const flags = readFlags(args, ctx);
  refuseDetachedMerge(args);
  const here = await ctx.api();
  const session = await findTeam(here, ctx, args.positionals[1]);
  const { isKept } = await here.team.show({ session: session.id });
  if (!isKept)
    throw new Fault("usage", "the directory of this team was cleaned away: it can't go on", { hint: "skein team run begins another" });
  const turn = { ...buildTurn(flags, await here.config.values(), ctx), team: { work: "resume" } satisfies TeamTask };
  const api = flags.on("detach") ? await connectHubFor(ctx, { cwd: session.directory }) : here;
  return take(api, session, turn, args, ctx);
}

function refuseDetachedMerge(args: Args): void {
  if (args.flags["merge"] && args.flags["detach"])
    throw new Fault("usage", "--merge waits for the end, and --detach does not", { hint: "skein team merge brings the work in later" });
}

async function objectiveOf(args: Args, ctx: CommandContext): Promise<string> {
  const given = args.positionals[1];
  if (given === undefined) throw new Fault("usage", "team run needs an objective", { hint: 'skein team run "what is to be done"' });
  const text = given === "-" ? await ctx.stdin.text({ wait: true }) : given;
  if (text.trim() === "") throw new Fault("usage", "the objective is empty");
  return text;
}

type Turn = Omit<TurnStartParams, "session" | "prompt">;

async function take(api: Api, session: Session, turn: Turn, args: Args, ctx: CommandContext): Promise<number> {
  const { format } = readFlags(args, ctx);
  const events = api.turn.start({ ...turn, session: session.id, prompt: null });
  if (args.flags["detach"]) return explainBusyTeam(session, detachTurn(events, api, ctx, format));
  let stopped: "SIGINT" | "SIGTERM" | null = null;
  ctx.onStop((signal) => {
    stopped = signal;
    void api.turn.cancel({ session: session.id });
  });
  const result = await explainBusyTeam(session, followed(api, session, events, format, args, ctx));
  if (result.status !== "ok") return stopped === "SIGTERM" && result.status === "cancelled" ? 143 : exitCodes[result.status];
  return args.flags["merge"] ? mergeAfterRun(api, session, ctx, format) : 0;
}

async function followed(
  api: Api,
  session: Session,
  events: ReturnType<Api["turn"]["start"]>,
  format: OutputFormat,
  args: Args,
  ctx: CommandContext,
) {
  if (format !== "text" || args.flags["no-board"] || !(await canDraw(api, ctx)))
    return followTurn(events, await printerFor(format, ctx, { stream: true, tools: [] }));
  const [{ liveBoard }, { textPrinter }] = await Promise.all([import("./live-board.ts"), import("../../print/text.ts")]);
  const board = liveBoard(api, session.id, ctx, (above) => textPrinter(above, { stream: false, tools: [] }));
  try {
    return await followTurn(events, board);
  } finally {
    await board.close();
  }
}

async function canDraw(api: Api, { out, err, env }: CommandContext): Promise<boolean> {
  const isTerminal = out.isTty && err.isTty && !/^(dumb|vt\d)?$/.test(env["TERM"] ?? "");
  return isTerminal && !(await api.config.values()).screenReader;
}
