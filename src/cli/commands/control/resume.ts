// skein resume: a turn that was paused goes on.
import { jsonFlag } from "../../parse/args.ts";
import type { Command } from "../../parse/command.ts";
import { sessionFromArgs, printReport } from "./pause.ts";

export const resume: Command = {
  name: "resume",
  summary: "let a paused turn go on",
  usage: "<session> [--json]",
  positionals: { min: 1, max: 1 },
  flags: [jsonFlag],
  notes: `For a turn that \`skein pause\` made stand still. One that has ended goes on with
\`skein run --resume <session>\`. A sub-session whose parent is paused goes on with it.
Exit code 0 also when nothing ran.`,
  run: async (args, door) => {
    const api = await door.api();
    const { id, label } = await sessionFromArgs(api, args, door);
    const report = await api.turn.resume({ session: id });
    const texts = {
      running: `${label} goes on`,
      paused: `${label} stands still as long as its parent does`,
      "not-running": `nothing runs in ${label}; skein run --resume ${label} goes on with it`,
    };
    return printReport(args, door, report, texts[report.state]);
  },
};
