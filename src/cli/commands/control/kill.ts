// skein kill: stops the turn that runs in a session, whoever started it.
import type { KillReport } from "../../../protocol/api/api.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const kill: Command = {
  name: "kill",
  summary: "stop the turn that runs in a session, with all it has started",
  usage: "<session> [--force] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [{ name: "force", summary: "do not ask: kill the process that runs it, with every turn in it" }, jsonFlag],
  notes: `The process that runs it is asked to stop the turn and goes on with what else it
does: a chat waits for the next message, the hub runs its other turns. One that
does not answer within 15 seconds is ended, unless it runs other sessions too. What
was recorded stays, and \`skein run --resume <session>\` goes on from there. Exit
code 0 also when nothing ran.`,
  run: runKill,
};

const silentMs = 1000;

async function runKill(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const session = await findSession(api, ctx, args.positionals[0]);
  const label = stripControls(session.name ?? shortId(session.id));
  const sign = setTimeout(() => ctx.err.write(`${styleOf(ctx.err).dim(`waiting for ${label} to stop`)}\n`), silentMs);
  const report = await api.turn.kill({ session: session.id, force: args.flags["force"] === true }).finally(() => clearTimeout(sign));
  ctx.out.write(args.flags["json"] ? jsonText(report) : `${told(label, report)}\n`);
  return 0;
}

function told(label: string, { outcome, pid, status }: KillReport): string {
  if (outcome === "not-running") return `nothing runs in ${label}`;
  if (outcome === "killed" && pid === null) return `the process that ran ${label} was gone; its turn is recorded as killed`;
  if (outcome === "killed") return `killed ${label} (process ${pid})`;
  return status === "ok" ? `${label} had just ended` : `stopped ${label}`;
}
