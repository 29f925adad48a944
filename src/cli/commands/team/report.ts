// skein report: reports the progress of a team member. Uses only files, like `skein msg`.
import { Fault } from "../../../protocol/api/error.ts";
import { checkVerb, jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { readMemberEnv, postMail, sharedPath, type MemberEnv } from "./member-env.ts";
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
  positionals: number;
  /** Number of required positionals, including the verb. */
  min: number;
  /** Names the required positionals in an error message. */
  needs: string;
  flags?: readonly string[];
  value: (args: Args, member: MemberEnv, ctx: CommandContext) => object;
};

const verbs: Record<string, Verb> = {
  status: {
    positionals: 2,
    min: 2,
    needs: "a text",
    flags: ["progress"],
    value: ({ positionals: [, message], flags }) => ({ message, progress: parseProgress(flags["progress"]) }),
  },
  artifact: {
    positionals: 3,
    min: 2,
    needs: "a path",
    value: ({ positionals: [, path = "", description] }, member, ctx) => ({ path: sharedPath(path, member, ctx), description }),
  },
  dependency: {
    positionals: 3,
    min: 3,
    needs: "the member to wait for, and the reason",
    value: ({ positionals: [, waitingFor, reason] }) => ({ waiting_for: waitingFor, reason }),
  },
  complete: {
    positionals: 3,
    min: 3,
    needs: "success or failure, and a summary",
    flags: ["output"],
    value: ({ positionals: [, result = "", summary], flags }, member, ctx) => {
      if (result !== "success" && result !== "failure") throw new Fault("usage", `work completes with success or failure, not "${result}"`);
      const outputs = (flags["output"] ?? []) as string[];
      return { result, summary, outputs: outputs.map((path) => sharedPath(path, member, ctx)) };
    },
  },
};

async function runReport(args: Args, ctx: CommandContext): Promise<number> {
  const type = args.positionals[0] as string;
  const verb = verbs[type]!;
  if (args.positionals.length < verb.min) throw new Fault("usage", `report ${type} needs ${verb.needs}`, { hint: usageLine(report) });
  checkVerb(report, args, { positionals: verb.positionals, flags: [...(verb.flags ?? []), "json"] });
  const member = readMemberEnv(ctx, "report");
  const id = postMail(member, { type, ...verb.value(args, member, ctx) }, ctx);
  ctx.out.write(args.flags["json"] ? jsonText({ id }) : `${id}\n`);
  return 0;
}

function parseProgress(value: Args["flags"][string]): number | undefined {
  if (value === undefined) return undefined;
  const progress = Number(value);
  if (progress >= 0 && progress <= 1) return progress;
  throw new Fault("usage", `--progress is a number from 0 to 1, not "${String(value)}"`);
}
