// skein kill: stops the running turn of a session, in whichever process it runs.
import { printableLabel } from "../../print/session-label.ts";
import type { KillReport } from "../../../protocol/api/api.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";
import { styleOf } from "../../terminal/style.ts";

export const kill: Command = {
  name: "kill",
  summary: "stop the running turn of a session and every process it started",
  usage: "<session> [--force] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [{ name: "force", summary: "kill the process that runs the turn, with every other turn in it" }, jsonFlag],
  notes: `skein asks the process that runs the turn to stop it. That process continues with
its other work: a chat waits for the next message, the hub runs its other turns.
A process that does not answer within 15 seconds is killed, unless it runs other
sessions too. Recorded nodes stay; continue with \`skein run --resume <session>\`.
The exit code is also 0 if nothing was running.`,
  run: runKill,
};

const showWaitingAfterMs = 1000;

async function runKill(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const session = await findSession(api, ctx, args.positionals[0]);
  const label = printableLabel(session);
  const timer = setTimeout(() => ctx.err.write(`${styleOf(ctx.err).dim(`waiting for ${label} to stop`)}\n`), showWaitingAfterMs);
  const report = await api.turn.kill({ session: session.id, force: args.flags["force"] === true }).finally(() => clearTimeout(timer));
  ctx.out.write(args.flags["json"] ? jsonText(report) : `${reportText(label, report)}\n`);
  return 0;
}

function reportText(label: string, { outcome, pid, status }: KillReport): string {
  if (outcome === "not-running") return `nothing is running in ${label}`;
  if (outcome === "killed" && pid === null) return `the process that ran ${label} was gone; its turn is recorded as killed`;
  if (outcome === "killed") return `killed ${label} (process ${pid})`;
  return status === "ok" ? `${label} had just ended` : `stopped ${label}`;
}
