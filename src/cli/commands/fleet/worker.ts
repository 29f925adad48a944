// skein worker: takes runs of the fleet on this machine, until it is drained or stopped.
import { Fault } from "../../../protocol/api/error.ts";
import { countFlag, jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { flagReader } from "../run/flag-value.ts";
import { jsonText } from "../../print/json.ts";

export const worker: Command = {
  name: "worker",
  summary: "work on runs of the fleet on this machine",
  usage: "start [--slots n] [--label a,b] [--workspaces directory] [--json]",
  positionals: { min: 1, max: 1 },
  verbs: ["start"],
  flags: [
    { name: "slots", value: "n", summary: "runs at the same time (default 2)" },
    { name: "label", value: "a,b", summary: "also take runs that need one of these labels" },
    { name: "workspaces", value: "directory", summary: "where the files of sessions are put (default: beside the data directory)" },
    jsonFlag,
  ],
  notes: `The worker needs fleet.url in its config, and its own keys or sign-ins. It
opens no port. Ctrl-C and SIGTERM stop it: its turns wait for another worker, which goes
on with the same conversation and files. \`skein fleet drain\` lets them finish first.

Examples:
  skein worker start
  skein worker start --slots 4 --label gpu,linux`,
  run: start,
};

async function start(args: Args, ctx: CommandContext): Promise<number> {
  if (args.positionals[0] !== "start")
    throw new Fault("usage", `skein worker has no verb "${args.positionals[0]}"`, { hint: "skein worker start" });
  const slots = countFlag(args, "slots", 2);
  const { text, read } = flagReader(args, ctx);
  const labels = (text("label") ?? "").split(",").flatMap((label) => (label.trim() === "" ? [] : [label.trim()]));
  const workspaces = read("workspaces", (flag) => flag.writableDirectory());
  const fleet = await ctx.fleet({ slots, labels, workspaces });
  await fleet.work({
    slots,
    labels,
    onStop: (stop) => ctx.onStop(stop),
    onReady: (id) => {
      if (args.flags["json"]) ctx.out.write(jsonText({ outcome: "started", worker_id: id, pid: process.pid, slots, labels }));
      else ctx.out.write(`worker ${id} takes ${slots} runs at a time${labels.length === 0 ? "" : `, also for ${labels.join(", ")}`}\n`);
    },
    log: (line) => ctx.err.write(`${new Date().toISOString()} ${line}\n`),
  });
  return 0;
}
