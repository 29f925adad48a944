// skein pause and kill: control the running turn of a session, in whichever process it runs.
import type { Api, KillReport } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { findSession } from "../../parse/find-session.ts";
import { printableLabel } from "../../print/session-label.ts";
import { styleOf } from "../../terminal/style.ts";
import { reportCommand, sessionReport, type Report } from "../report-command.ts";

export const pause = sessionReport({
  name: "pause",
  summary: "pause the running turn of a session and every process it started",
  usage: "<session> [--force] [--json]",
  listing: "`skein ps` lists what runs",
  flags: [{ name: "force", summary: "suspend the process that runs the turn, if it runs no other turn" }],
  notes: `Until \`skein resume <session>\`, no request goes to a model, every process of the
turn and of its sub-sessions is suspended, and time limits do not run. skein asks
the process that runs the turn to pause it. --force suspends that process, even if
it does not answer. A connection that breaks in the meantime is a network failure like any
other. The exit code is also 0 if nothing was running.`,
  async report({ api, session, args }) {
    const json = await api.turn.pause({ session: session.id, force: args.flags["force"] === true });
    const label = printableLabel(session);
    const text =
      json.state !== "paused"
        ? `nothing is running in ${label}`
        : json.isChanged === false
          ? `${label} is already paused`
          : `paused ${label}`;
    return { json, text: `${text}\n` };
  },
});

const showWaitingAfterMs = 1000;

export const kill = reportCommand({
  name: "kill",
  summary: "stop a turn and every process it started, or withdraw a queued turn",
  usage: "<session|turn> [--force] [--json]",
  listing: "`skein ps` lists what runs",
  positionals: { min: 1, max: 1 },
  flags: [{ name: "force", summary: "kill the process that runs the turn, with every other turn in it" }],
  notes: `skein asks the process that runs the turn to stop it. That process continues with
its other work: a chat waits for the next message, the hub runs its other turns.
A process that does not answer within 15 seconds is killed, unless it runs other
sessions too. Recorded nodes stay; continue with \`skein run --resume <session>\`. Queued turns of
the session run next. The id of a queued turn (\`skein ps\`) withdraws that turn.
A turn that waits for a limit stops waiting.
The exit code is also 0 if nothing was running.`,
  async report(args, ctx) {
    const api = await ctx.api();
    const wanted = args.positionals[0]!;
    const session = await findSession(api, ctx, wanted).catch(ifUnknown);
    if (session === null) return withdrawReport(api, wanted);
    const label = printableLabel(session);
    const timer = setTimeout(() => ctx.err.write(`${styleOf(ctx.err).dim(`waiting for ${label} to stop`)}\n`), showWaitingAfterMs);
    const force = args.flags["force"] === true;
    const json = await api.turn.kill({ session: session.id, force }).finally(() => clearTimeout(timer));
    return { json, text: `${killedText(label, json)}\n` };
  },
});

function ifUnknown(error: unknown): null {
  if (error instanceof Fault && error.code === "session-unknown") return null;
  throw error;
}

async function withdrawReport(api: Api, wanted: string): Promise<Report> {
  const turn = await api.turn.withdraw({ pending: wanted });
  if (turn === null)
    throw new Fault("session-unknown", `there is no session and no queued turn "${wanted}"`, {
      hint: "`skein ps` shows what runs, and the ids of queued turns",
    });
  const json: KillReport = { session: turn.session, outcome: "withdrawn", pid: null, status: null, turn: turn.id };
  return { json, text: `withdrew turn ${shortId(turn.id)} of session ${shortId(turn.session)}\n` };
}

function killedText(label: string, { outcome, pid, status }: KillReport): string {
  if (outcome === "not-running") return `nothing is running in ${label}`;
  if (outcome === "killed" && pid === null) return `the process that ran ${label} was gone; its turn is recorded as killed`;
  if (outcome === "killed") return `killed ${label} (process ${pid})`;
  return status === "ok" ? `${label} had just ended` : `stopped ${label}`;
}
