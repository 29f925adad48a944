// skein report: reports the progress of a team member. Uses only files, like `skein msg`.
import { Fault } from "../../../protocol/api/error.ts";
import { jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { memberFiles, postMail, sharedPath, type MemberFiles } from "./member-files.ts";
import { jsonText } from "../../print/json.ts";

export const report: Command = {
  name: "report",
  summary: "inside a team: report the progress of your work",
  usage: "status <text> | artifact <path> [text] | dependency <who> <reason> | complete success|failure <summary>",
  positionals: { min: 1, max: 3 },
  verbs: ["status", "artifact", "dependency", "complete"],
  flags: [
    { name: "progress", value: "0..1", summary: "with status: the share that is done" },
    { name: "output", value: "path", repeat: true, summary: "with complete: a file that was produced" },
    jsonFlag,
  ],
  notes: `Prints the id of the report. Paths must be in the shared context or in the workspace.

Examples:
  skein report status "tests pass, docs are missing" --progress 0.8
  skein report artifact "$SKEIN_SHARED_CONTEXT/api.md" "the interface"
  skein report complete success "login works" --output src/login.ts`,
  run: runReport,
};

type Verb = {
  /** The least and the highest number of positionals. */
  positionals: readonly [number, number];
  needs: string;
  flag?: string;
  value: (args: Args, files: MemberFiles, ctx: CommandContext) => object;
};

const verbs: Record<string, Verb> = {
  status: {
    positionals: [2, 2],
    needs: "a text",
    flag: "progress",
    value: ({ positionals: [, message], flags }) => ({ message, progress: parseProgress(flags["progress"]) }),
  },
  artifact: {
    positionals: [2, 3],
    needs: "a path",
    value: ({ positionals: [, path = "", description] }, files, ctx) => ({ path: sharedPath(path, files, ctx), description }),
  },
  dependency: {
    positionals: [3, 3],
    needs: "the member to wait for, and the reason",
    value: ({ positionals: [, waitingFor, reason] }) => ({ waiting_for: waitingFor, reason }),
  },
  complete: {
    positionals: [3, 3],
    needs: "success or failure, and a summary",
    flag: "output",
    value: ({ positionals: [, result = "", summary], flags }, files, ctx) => {
      if (result !== "success" && result !== "failure") throw new Fault("usage", `work completes with success or failure, not "${result}"`);
      const outputs = (flags["output"] ?? []) as string[];
      return { result, summary, outputs: outputs.map((path) => sharedPath(path, files, ctx)) };
    },
  },
};

async function runReport(args: Args, ctx: CommandContext): Promise<number> {
  const type = args.positionals[0] as string;
  const verb = verbs[type] as Verb;
  const [min, max] = verb.positionals;
  const count = args.positionals.length;
  if (count < min) throw new Fault("usage", `report ${type} needs ${verb.needs}`, { hint: usageLine(report) });
  if (count > max) throw new Fault("usage", `report ${type}: "${args.positionals[max]}" is too much`, { hint: usageLine(report) });
  const misplaced = ["progress", "output"].find((flag) => flag !== verb.flag && args.flags[flag] !== undefined);
  if (misplaced !== undefined) throw new Fault("usage", `--${misplaced} does not go with report ${type}`, { hint: usageLine(report) });
  const files = memberFiles(ctx, "report");
  const id = postMail(files, { type, ...verb.value(args, files, ctx) }, ctx);
  ctx.out.write(args.flags["json"] ? jsonText({ id }) : `${id}\n`);
  return 0;
}

function parseProgress(value: Args["flags"][string]): number | undefined {
  if (value === undefined) return undefined;
  const progress = Number(value);
  if (progress >= 0 && progress <= 1) return progress;
  throw new Fault("usage", `--progress is a number from 0 to 1, not "${String(value)}"`);
}
