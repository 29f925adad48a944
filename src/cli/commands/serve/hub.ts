// skein hub: the process that serves skein to other programs and keeps turns running when their terminal is gone.
import { formatDuration, parseDuration } from "../../../kit/text/duration.ts";
import { findRunningHub, startHub, stopHub, connectToHubFile, type HubLookup, type StopHubResult } from "../../../hub/find-hub.ts";
import { readHubFile, type HubFile } from "../../../hub/hub-file.ts";
import type { TurnInfo } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { refuseNesting } from "../../../protocol/api/nesting.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { turnInfoRecord } from "../../../protocol/json/records.ts";
import { jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const hub: Command = {
  name: "hub",
  summary: "serve skein to other programs, and run turns that outlive the terminal",
  usage: "start [--port n] [--foreground] | stop [--wait time] | status [--json]",
  positionals: { min: 1, max: 1 },
  verbs: ["start", "stop", "status"],
  flags: [
    { name: "port", value: "n", summary: "with start: exactly this port instead of 4444 or the next free one" },
    { name: "foreground", summary: "with start: stay here until stopped, with the log on stderr" },
    { name: "wait", value: "time", summary: "with stop: how long turns may go on, 10s if not said; 0 stops them at once" },
    jsonFlag,
  ],
  notes: `A WebSocket on 127.0.0.1 with a token, and a unix socket that only you can open;
docs/HUB.md has the protocol. \`hub.json\` in the state directory says where both are.
\`start\` finds the one that runs; it keeps the environment it is started with, keys
included, for programs that bring none. \`run --detach\` starts one without any.
\`stop\` lets running turns finish, then stops them; what they did is kept, and
\`skein run --resume\` goes on. \`status\` ends with 1 when no hub runs.`,
  run: runHubCommand,
};

async function runHubCommand(args: Args, ctx: CommandContext): Promise<number> {
  const verb = args.positionals[0] as "start" | "stop" | "status";
  const misplaced = Object.entries(flagOf).find(([flag, own]) => args.flags[flag] !== undefined && own !== verb);
  if (misplaced) throw new Fault("usage", `--${misplaced[0]} goes with hub ${misplaced[1]}`, { hint: usageLine(hub) });
  return { start, stop, status }[verb](args, ctx);
}

const flagOf = { port: "start", foreground: "start", wait: "stop" } as const;

async function start(args: Args, ctx: CommandContext): Promise<number> {
  refuseNesting(ctx.enclosingSession());
  const port = portIn(args.flags["port"]);
  const running = args.flags["foreground"] ? await findRunningHub(seekerOf(ctx)) : null;
  if (args.flags["foreground"] && running === null) return stay(args, ctx, port);
  const { file, isNew } = running === null ? await startHub(seekerOf(ctx), { port, credentials: "kept" }) : { file: running, isNew: false };
  if (port !== null && new URL(file.url).port !== String(port)) {
    throw new Fault("usage", `the hub runs already, at ${file.url}`, { hint: "skein hub stop, then start it with --port" });
  }
  tellStarted(args, ctx, file, isNew ? "started" : "running");
  return 0;
}

async function stay(args: Args, ctx: CommandContext, port: number | null): Promise<number> {
  const { runHub } = await import("../../../hub/run-hub.ts");
  const hasRun = await runHub({
    state: ctx.state,
    version: ctx.version,
    port,
    api: await ctx.api({ lenient: true }),
    apiFor: ({ directory, env, trust }) =>
      ctx.api({ cwd: directory ?? ctx.cwd, ...(env === null ? {} : { env }), ...(trust === null ? {} : { trust }) }),
    isThere: async () => (await findRunningHub(seekerOf(ctx))) !== null,
    onStop: ctx.onStop,
    onReady: (file) => tellStarted(args, ctx, file, "started"),
    log: (line) => ctx.err.write(`${new Date().toISOString()} ${line}\n`),
  });
  if (!hasRun) ctx.err.write("another hub runs already\n");
  return 0;
}

function tellStarted(args: Args, ctx: CommandContext, file: HubFile, outcome: "started" | "running"): void {
  if (args.flags["json"]) ctx.out.write(jsonText({ outcome, ...recordOf(file) }));
  else ctx.out.write(`${outcome === "started" ? "the hub runs" : "the hub runs already"}: ${file.url}, process ${file.pid}\n`);
}

async function stop(args: Args, ctx: CommandContext): Promise<number> {
  const waitMs = waitIn(args.flags["wait"]);
  const stopped = await stopHub(seekerOf(ctx), waitMs);
  ctx.out.write(args.flags["json"] ? jsonText(stopped) : `${stopText(stopped)}\n`);
  return 0;
}

function stopText({ outcome, pid }: StopHubResult): string {
  if (outcome === "not-running") return "no hub runs";
  return outcome === "stopped"
    ? "the hub is stopped"
    : `the hub did not stop and was killed (process ${pid}); the next one records what it left`;
}

async function status(args: Args, ctx: CommandContext): Promise<number> {
  const file = readHubFile(ctx.state);
  if (file === null) {
    ctx.out.write(args.flags["json"] ? jsonText({ status: "not-running" }) : "no hub runs; skein hub start starts one\n");
    return 1;
  }
  const { api } = await connectToHubFile(seekerOf(ctx), file).catch((error: unknown) => {
    if (!(error instanceof Fault && error.code === "connection-lost")) throw error;
    throw new Fault("hub-unreachable", `the hub (process ${file.pid}) can't be asked: ${error.message}`, {
      hint: "skein hub stop ends it",
    });
  });
  const rows = await api.turn.list({ endedSince: null });
  await api.close();
  const turns = rows.filter(({ pid }) => pid === file.pid);
  const uptimeMs = Date.now() - Date.parse(file.started_at);
  if (args.flags["json"]) {
    ctx.out.write(jsonText({ status: "running", ...recordOf(file), uptimeMs, turns: turns.map(turnInfoRecord) }));
    return 0;
  }
  const style = styleOf(ctx.out);
  ctx.out.write(
    `${style.green("running")} for ${formatDuration(uptimeMs)}: ${file.url}, process ${file.pid}, skein ${stripControls(file.version)}\n`,
  );
  for (const row of turns) ctx.out.write(`  ${turnText(row)}\n`);
  if (turns.length === 0) ctx.out.write(`  ${style.dim("no turn runs in it")}\n`);
  return 0;
}

function turnText({ session, turn, state }: TurnInfo): string {
  const words = [session.name ?? shortId(session.id), `${state} for ${formatDuration(Date.now() - turn.startedAt)}`, session.task ?? ""];
  return words.map(stripControls).join("  ");
}

function recordOf({ process_start: _, ...file }: HubFile): Omit<HubFile, "process_start"> {
  return file;
}

function seekerOf({ state, home, selfCommand: self, version, env }: CommandContext): HubLookup {
  return { state, home, selfCommand: self, version, env };
}

function portIn(text: Args["flags"][string]): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (!/^\d+$/.test(String(text)) || port < 1 || port > 65_535) throw new Fault("usage", "--port is a number from 1 to 65535");
  return port;
}

function waitIn(text: Args["flags"][string]): number {
  const ms = text === undefined ? 10_000 : parseDuration(String(text));
  if (ms === null) throw new Fault("usage", `--wait can't be "${String(text)}"`, { hint: "a time like 30s, 5m or 0" });
  return ms;
}
