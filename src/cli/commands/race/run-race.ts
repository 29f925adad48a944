// skein race and race resume: start a turn of the agent `race`, and follow it in a table, as lines or as records.
// With --detach the hub runs the turn.
import type { Api, TurnStartParams } from "../../../protocol/api/api.ts";
import { exitCodes, Fault } from "../../../protocol/api/error.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import type { ResultRecord } from "../../../protocol/json/records.ts";
import { parseContestants } from "../../../protocol/race/contestants.ts";
import type { Contestant, RaceRequest, RaceTask } from "../../../protocol/race/race.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { canDrawBoard } from "../../live/live-board.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { followTurn } from "../../print/follow-turn.ts";
import { jsonText } from "../../print/json.ts";
import { printerFor, type OutputFormat, type Printer } from "../../print/printer.ts";
import { fleetRequest, printSent, sendToFleet } from "../fleet/send-run.ts";
import { connectHubFor, detachTurn } from "../run/detach.ts";
import { buildTurn, readFlags } from "../run/run.ts";
import { explainBusyRace, findRace } from "./find-race.ts";
import { printOutcome } from "./show-race.ts";

export async function startRace(args: Args, ctx: CommandContext): Promise<number> {
  const flags = readFlags(withoutAgents(args), ctx);
  const { directory } = flags;
  const overrides = { ...(flags.trust === null ? {} : { trust: flags.trust }), cwd: directory };
  const localApi = await ctx.api(overrides);
  const { check, checkTimeoutMs, role, ...options } = buildTurn(flags, await localApi.config.values(), ctx);
  if (role !== undefined) await localApi.roles.find({ name: role.name, directory });
  const wish = { ...(await readRequest(args, ctx)), check, checkTimeoutMs, role: role?.name ?? null };
  const turn = { ...options, check: null, checkTimeoutMs, race: { work: "run", wish } satisfies RaceTask };
  if (flags.on("fleet")) refuseWithoutAdoption(args);
  else await localApi.turn.check({ ...turn, agent: wish.contestants[0]!.agent, isNew: true, directory });
  const api = flags.on("fleet")
    ? await ctx.api({ ...overrides, store: "fleet" })
    : flags.on("detach")
      ? await connectHubFor(ctx, overrides)
      : localApi;
  const session = await openRace(api, args, { directory, toolLevel: turn.toolLevel, agent: wish.contestants[0]!.agent });
  return takeRaceTurn({ api, session, args, ctx, format: flags.format, directory }, turn);
}

export async function resumeRace(args: Args, ctx: CommandContext): Promise<number> {
  const flags = readFlags(args.flags["resume"] === undefined ? args : { ...args, flags: { ...args.flags, resume: undefined } }, ctx);
  const localApi = await ctx.api();
  const session = await findRace(localApi, ctx, args.positionals[1]);
  const view = await localApi.race.show({ session: session.id });
  if (view.state === "ended" && (view.status === "ok" || view.racers.every(({ state }) => state === "ended")))
    throw new Fault("usage", "all agents of this race have ended", { hint: "`skein race show` shows it" });
  const turn = { ...buildTurn(flags, await localApi.config.values(), ctx), race: { work: "resume" } satisfies RaceTask };
  const api = flags.on("detach") ? await connectHubFor(ctx, { cwd: session.directory }) : localApi;
  return takeRaceTurn({ api, session, args, ctx, format: flags.format }, turn);
}

/** The worker does not send the worktrees of the agents. Only adopted work is in the session's files, which can be pulled. */
function refuseWithoutAdoption(args: Args): void {
  const other = ["session", "node"].find((name) => args.flags[name] !== undefined);
  if (other !== undefined) throw new Fault("usage", `--fleet and --${other} exclude each other`);
  if (args.flags["adopt-first-passing"] !== true)
    throw new Fault("usage", "race --fleet needs --adopt-first-passing: only adopted work comes back from the worker", {
      hint: 'skein race "task" -a claude,codex --fleet --check "npm test" --adopt-first-passing',
    });
}

/** --agent and --model are lists here. The turn of the race itself has neither. */
function withoutAgents(args: Args): Args {
  const { agent: _agent, model: _model, session: _session, ...flags } = args.flags;
  return { ...args, flags };
}

async function readRequest(args: Args, ctx: CommandContext): Promise<Omit<RaceRequest, "check" | "checkTimeoutMs" | "role">> {
  const text = (name: string) => (typeof args.flags[name] === "string" ? args.flags[name] : null);
  const contestants: Contestant[] = parseContestants(text("agent"), text("model"));
  return {
    task: await readTask(args, ctx),
    contestants,
    adoptFirstPassing: args.flags["adopt-first-passing"] === true,
    withChanges: args.flags["with-changes"] === true,
    withIgnored: args.flags["with-ignored"] === true,
  };
}

async function readTask(args: Args, ctx: CommandContext): Promise<string> {
  const [word] = args.positionals;
  const task = word === "-" || (word === undefined && !ctx.stdin.isTty) ? await ctx.stdin.text({ wait: true }) : (word ?? "");
  if (task.trim() !== "") return task;
  throw new Fault("usage", "there is no task", { hint: 'skein race "what to do" -a claude,codex' });
}

type NewRace = { directory: string; toolLevel: Session["toolLevel"]; agent: string };

/** A race that starts from a node is a fork of its session; the agents fork it again. */
async function openRace(api: Api, args: Args, { directory, toolLevel, agent }: NewRace): Promise<Session> {
  const { session: wanted, node: nodeId, name } = args.flags;
  if (wanted !== undefined && nodeId !== undefined) throw new Fault("usage", "--session and --node exclude each other");
  const node = nodeId === undefined ? null : await api.node.find({ wanted: String(nodeId) });
  const from = wanted === undefined ? (node?.session ?? null) : (await api.session.find({ wanted: String(wanted), directory })).id;
  const raceName = name === undefined ? null : String(name);
  if (from !== null) return api.session.fork({ session: from, at: node?.id ?? null, name: raceName });
  const named = raceName === null ? {} : { name: raceName };
  const open = {
    find: { by: "new" as const },
    directory,
    toolLevel,
    agent,
    model: null,
    task: null,
    parentSession: null,
    transcriptDir: null,
  };
  return api.session.open({ ...open, ...named });
}

/** `directory` is that of a race that is sent to the fleet. */
type RaceCommand = { api: Api; session: Session; args: Args; ctx: CommandContext; format: OutputFormat; directory?: string };

async function takeRaceTurn(command: RaceCommand, turn: Omit<TurnStartParams, "session" | "prompt">): Promise<number> {
  const { api, session, args, ctx, format } = command;
  const request = { ...turn, session: session.id, prompt: null };
  const sent = args.flags["fleet"]
    ? await sendToFleet(ctx, fleetRequest(args.flags, ctx, { session, directory: command.directory ?? ctx.cwd, turn: request }))
    : null;
  if (sent !== null && args.flags["detach"]) return printSent(ctx, { run: sent.run, session: session.id, api, isJson: format === "json" });
  const events = sent === null ? api.turn.start(request) : sent.fleet.follow(session.id, sent.afterSeq);
  if (args.flags["detach"]) return explainBusyRace(session, detachTurn(events, api, ctx, format));
  let stopSignal: "SIGINT" | "SIGTERM" | null = null;
  ctx.onStop((signal) => {
    stopSignal = signal;
    void (sent === null ? api.turn.cancel({ session: session.id }) : sent.fleet.stop(session.id));
  });
  const result = await explainBusyRace(session, follow(command, events));
  const view = await api.race.show({ session: session.id });
  if (format === "json") ctx.out.write(jsonText(view));
  if (format === "text") printOutcome(view, result, ctx);
  return stopSignal === "SIGTERM" && result.status === "cancelled" ? 143 : exitCodes[result.status];
}

async function follow({ api, session, args, ctx, format }: RaceCommand, events: AsyncIterable<Event>): Promise<ResultRecord> {
  // The table at the end is the result. A printer would print the same as text.
  const withoutResult = (printer: Printer): Printer =>
    format === "text" || format === "json" ? { ...printer, finish: () => {} } : printer;
  if (format !== "text" || args.flags["no-table"] || !canDrawBoard(ctx, await api.config.values()))
    return followTurn(events, withoutResult(await printerFor(format, ctx, { stream: false, tools: [] })));
  const [{ raceBoard }, { textPrinter }] = await Promise.all([import("./race-board.ts"), import("../../print/text.ts")]);
  const board = raceBoard(api, session.id, ctx, (screens) => withoutResult(textPrinter(screens, { stream: false, tools: [] })));
  try {
    return await followTurn(events, board);
  } finally {
    await board.close();
  }
}
