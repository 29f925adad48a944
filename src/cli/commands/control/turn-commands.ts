// skein pause, resume and kill: control the running turn of a session, in whichever process it runs.
import type { Api, KillReport } from "../../../protocol/api/api.ts";
import type { Command, CommandContext, Flag } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { printableLabel } from "../../print/session-label.ts";
import { styleOf } from "../../terminal/style.ts";
import { reportCommand } from "../report-command.ts";

type Target = { api: Api; session: string; label: string; force: boolean; ctx: CommandContext };
type TurnCommand = {
  name: string;
  summary: string;
  forceFlag?: Flag;
  notes: string;
  act: (target: Target) => Promise<{ json: unknown; text: string }>;
};

export const pause = turnCommand({
  name: "pause",
  summary: "pause the running turn of a session and every process it started",
  forceFlag: { name: "force", summary: "stop the process that runs the turn, if it runs no other turn" },
  notes: `Until \`skein resume <session>\`, no request goes to a model, every process of the
turn and of its sub-sessions is stopped, and time limits do not run. skein asks
the process that runs the turn to pause it; --force stops a process that does not
answer. A connection that breaks in the meantime is a network failure like any
other. The exit code is also 0 if nothing was running.`,
  async act({ api, session, label, force }) {
    const json = await api.turn.pause({ session, force });
    return { json, text: `${json.state === "paused" ? "paused" : "nothing is running in"} ${label}` };
  },
});

export const resume = turnCommand({
  name: "resume",
  summary: "resume a paused turn",
  notes: `Resumes a turn that \`skein pause\` paused. Continue one that has ended with
\`skein run --resume <session>\`. A sub-session whose parent is paused resumes with
its parent. The exit code is also 0 if nothing was running.`,
  async act({ api, session, label }) {
    const json = await api.turn.resume({ session });
    const texts = {
      running: `resumed ${label}`,
      paused: `${label} stays paused until its parent is resumed`,
      "not-running": `nothing is running in ${label}; continue it with: skein run --resume ${label}`,
    };
    return { json, text: texts[json.state] };
  },
});

const showWaitingAfterMs = 1000;

export const kill = turnCommand({
  name: "kill",
  summary: "stop the running turn of a session and every process it started",
  forceFlag: { name: "force", summary: "kill the process that runs the turn, with every other turn in it" },
  notes: `skein asks the process that runs the turn to stop it. That process continues with
its other work: a chat waits for the next message, the hub runs its other turns.
A process that does not answer within 15 seconds is killed, unless it runs other
sessions too. Recorded nodes stay; continue with \`skein run --resume <session>\`.
The exit code is also 0 if nothing was running.`,
  async act({ api, session, label, force, ctx }) {
    const timer = setTimeout(() => ctx.err.write(`${styleOf(ctx.err).dim(`waiting for ${label} to stop`)}\n`), showWaitingAfterMs);
    const json = await api.turn.kill({ session, force }).finally(() => clearTimeout(timer));
    return { json, text: killedText(label, json) };
  },
});

function killedText(label: string, { outcome, pid, status }: KillReport): string {
  if (outcome === "not-running") return `nothing is running in ${label}`;
  if (outcome === "killed" && pid === null) return `the process that ran ${label} was gone; its turn is recorded as killed`;
  if (outcome === "killed") return `killed ${label} (process ${pid})`;
  return status === "ok" ? `${label} had just ended` : `stopped ${label}`;
}

function turnCommand({ forceFlag, act, ...entry }: TurnCommand): Command {
  return reportCommand({
    ...entry,
    usage: `<session> ${forceFlag === undefined ? "" : "[--force] "}[--json]`,
    positionals: { min: 1, max: 1 },
    flags: forceFlag === undefined ? [] : [forceFlag],
    async report(args, ctx) {
      const api = await ctx.api();
      const session = await findSession(api, ctx, args.positionals[0]);
      const target = { api, session: session.id, label: printableLabel(session), force: args.flags["force"] === true, ctx };
      const { json, text } = await act(target);
      return { json, text: () => `${text}\n` };
    },
  });
}
