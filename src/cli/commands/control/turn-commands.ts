// skein pause and kill: control the running turn of a session, in whichever process it runs.
import type { KillReport } from "../../../protocol/api/api.ts";
import { printableLabel } from "../../print/session-label.ts";
import { styleOf } from "../../terminal/style.ts";
import { sessionReport } from "../report-command.ts";

export const pause = sessionReport({
  name: "pause",
  summary: "pause the running turn of a session and every process it started",
  usage: "<session> [--force] [--json]",
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

export const kill = sessionReport({
  name: "kill",
  summary: "stop the running turn of a session and every process it started",
  usage: "<session> [--force] [--json]",
  flags: [{ name: "force", summary: "kill the process that runs the turn, with every other turn in it" }],
  notes: `skein asks the process that runs the turn to stop it. That process continues with
its other work: a chat waits for the next message, the hub runs its other turns.
A process that does not answer within 15 seconds is killed, unless it runs other
sessions too. Recorded nodes stay; continue with \`skein run --resume <session>\`.
The exit code is also 0 if nothing was running.`,
  async report({ api, session, args, ctx }) {
    const label = printableLabel(session);
    const timer = setTimeout(() => ctx.err.write(`${styleOf(ctx.err).dim(`waiting for ${label} to stop`)}\n`), showWaitingAfterMs);
    const force = args.flags["force"] === true;
    const json = await api.turn.kill({ session: session.id, force }).finally(() => clearTimeout(timer));
    return { json, text: `${killedText(label, json)}\n` };
  },
});

function killedText(label: string, { outcome, pid, status }: KillReport): string {
  if (outcome === "not-running") return `nothing is running in ${label}`;
  if (outcome === "killed" && pid === null) return `the process that ran ${label} was gone; its turn is recorded as killed`;
  if (outcome === "killed") return `killed ${label} (process ${pid})`;
  return status === "ok" ? `${label} had just ended` : `stopped ${label}`;
}
