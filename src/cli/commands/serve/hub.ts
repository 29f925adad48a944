// skein hub: starts, stops and shows the process that serves skein to other programs and runs detached turns.
import { findRunningHub, startHub, stopHub, connectToHubFile, type StopHubResult } from "../../../hub/find-hub.ts";
import { readHubFile, type HubFile } from "../../../hub/hub-file.ts";
import { formatDuration } from "../../../kit/text/duration.ts";
import type { PendingTurn, TurnInfo } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { refuseNesting } from "../../../protocol/api/nesting.ts";
import { countFlag, durationFlag, jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { printableLabel } from "../../print/session-label.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { printReport, type Report } from "../report-command.ts";
import { serveAcpFrames } from "./acp-frames.ts";

export const hub: Command = {
  name: "hub",
  summary: "serve skein to other programs, and run turns without a terminal",
  usage: "start [--port n] [--foreground] | stop [--wait time] | status [--json]",
  positionals: { min: 1, max: 1 },
  verbs: ["start", "stop", "status"],
  flags: [
    { name: "port", value: "n", summary: "with start: use this port instead of 4444 or the next free one" },
    { name: "foreground", summary: "with start: run in this process until stopped, and log to stderr" },
    { name: "wait", value: "time", summary: "with stop: time for running turns to finish (default 10s; 0 stops them at once)" },
    jsonFlag,
  ],
  notes: `The hub serves a WebSocket on 127.0.0.1 with a token, and a unix socket that only
you can open. docs/HUB.md has the protocol; \`hub.json\` in the state directory has
both addresses. \`start\` uses a running hub if there is one. For
programs that send no environment, a hub uses the one it was started with, keys
included. A hub started by \`run --detach\` keeps no keys. \`start\` continues turns of a hub that was killed,
and starts queued turns. \`stop\` lets running turns finish for a while, then
stops them. It names those that the next hub continues: detached turns, unless they
were started with --no-auto-resume. \`skein kill <session>\` ends one for good;
continue any other with \`skein run --resume\`. \`status\` exits with 1 if no hub is
running.`,
  async run(args, ctx) {
    const verb = args.positionals[0] as "start" | "stop" | "status";
    const misplaced = Object.entries(verbOfFlag).find(([flag, flagVerb]) => args.flags[flag] !== undefined && flagVerb !== verb);
    if (misplaced) throw new Fault("usage", `--${misplaced[0]} goes with hub ${misplaced[1]}`, { hint: usageLine(hub) });
    return { start, stop, status }[verb](args, ctx);
  },
};

const verbOfFlag = { port: "start", foreground: "start", wait: "stop" } as const;

async function start(args: Args, ctx: CommandContext): Promise<number> {
  refuseNesting(ctx.enclosingSession());
  const port = countFlag(args, "port", null, 65_535);
  const running = args.flags["foreground"] ? await findRunningHub(ctx) : null;
  if (args.flags["foreground"] && running === null) return runInForeground(args, ctx, port);
  const { file, isNew } = running === null ? await startHub(ctx, { port, credentials: "kept" }) : { file: running, isNew: false };
  if (port !== null && new URL(file.url).port !== String(port)) {
    throw new Fault("usage", `the hub is already running at ${file.url}`, { hint: "skein hub stop, then start it with --port" });
  }
  return printReport(args, ctx, startReport(file, isNew));
}

async function runInForeground(args: Args, ctx: CommandContext, port: number | null): Promise<number> {
  const { runHub } = await import("../../../hub/run-hub.ts");
  const { PageServer } = await import("../../../web/server/page-server.ts");
  const hasStarted = await runHub({
    state: ctx.state,
    version: ctx.version,
    port,
    // The turns of the fleet belong to its workers.
    api: await ctx.api({ lenient: true, store: "local" }),
    apiFor: ({ directory, env, trust }) =>
      ctx.api({
        cwd: directory ?? ctx.cwd,
        continuesTurns: true,
        ...(env === null ? {} : { env }),
        ...(trust === null ? {} : { trust }),
      }),
    serveAcp: (connection, apiFor) => serveAcpFrames(connection, apiFor, ctx),
    env: ctx.env,
    createPage: (deps) => new PageServer(deps),
    isOtherHubRunning: async () => (await findRunningHub(ctx)) !== null,
    onStop: ctx.onStop,
    onReady: (file) => void printReport(args, ctx, startReport(file, true)),
    log: (line) => ctx.err.write(`${new Date().toISOString()} ${line}\n`),
  });
  if (!hasStarted) ctx.err.write("another hub is already running\n");
  return 0;
}

function startReport(file: HubFile, isNew: boolean): Report {
  return {
    json: { outcome: isNew ? "started" : "running", ...withoutStartTime(file) },
    text: () => `the hub is ${isNew ? "" : "already "}running: ${file.url}, process ${file.pid}\n`,
  };
}

async function stop(args: Args, ctx: CommandContext): Promise<number> {
  const result = await stopHub(ctx, durationFlag(args, "wait") ?? 10_000);
  const pending = await readPending(ctx);
  return printReport(args, ctx, { json: { ...result, pending }, text: () => `${stopText(result)}\n${pendingText(pending)}` });
}

/** The turns that the next hub starts or continues. */
async function readPending(ctx: CommandContext): Promise<PendingTurn[]> {
  const api = await ctx.api({ lenient: true, store: "local" });
  try {
    return await api.turn.pending({ session: null });
  } finally {
    await api.close();
  }
}

const pendingTexts: Record<PendingTurn["kind"], string> = {
  continued: "continues its interrupted turn",
  waiting: "continues its turn when the limit ends",
  queued: "starts its queued turn",
};

function pendingText(pending: readonly PendingTurn[]): string {
  if (pending.length === 0) return "";
  const lines = pending.map(({ session, kind }) => `  ${shortId(session)}  ${pendingTexts[kind]}\n`);
  return `the next hub (skein hub start) has:\n${lines.join("")}`;
}

function stopText({ outcome, pid }: StopHubResult): string {
  if (outcome === "not-running") return "no hub is running";
  return outcome === "stopped"
    ? "the hub is stopped"
    : `the hub did not stop and was killed (process ${pid}); the next hub continues or records its interrupted turns`;
}

async function status(args: Args, ctx: CommandContext): Promise<number> {
  const file = readHubFile(ctx.state);
  if (file === null) {
    const text = () => "no hub is running; start one with: skein hub start\n";
    return printReport(args, ctx, { json: { status: "not-running" }, text, exitCode: 1 });
  }
  const { api } = await connectToHubFile(ctx, file).catch((error: unknown) => {
    if (!(error instanceof Fault && error.code === "connection-lost")) throw error;
    throw new Fault("hub-unreachable", `the hub (process ${file.pid}) does not answer: ${error.message}`, {
      hint: "stop it with: skein hub stop",
    });
  });
  const turns = (await api.turn.list({ endedSince: null })).filter(({ pid }) => pid === file.pid);
  await api.close();
  const uptimeMs = Date.now() - Date.parse(file.started_at);
  return printReport(args, ctx, {
    json: { status: "running", ...withoutStartTime(file), uptimeMs, turns },
    text: (style) => runningText(file, { uptimeMs, turns }, style),
  });
}

function runningText(file: HubFile, { uptimeMs, turns }: { uptimeMs: number; turns: TurnInfo[] }, style: Style): string {
  const address = `${file.url}, process ${file.pid}, skein ${stripControls(file.version)}`;
  const lines = turns.map(({ session, turn, state }) => {
    const duration = formatDuration(Date.now() - turn.startedAt);
    return `  ${printableLabel(session)}  ${state} for ${duration}  ${stripControls(session.task ?? "")}\n`;
  });
  if (turns.length === 0) lines.push(`  ${style.dim("no turn is running in it")}\n`);
  return `${style.green("running")} for ${formatDuration(uptimeMs)}: ${address}\n${lines.join("")}`;
}

/** The start time in the kernel's units only identifies the process. */
function withoutStartTime({ process_start: _, ...file }: HubFile): Omit<HubFile, "process_start"> {
  return file;
}
