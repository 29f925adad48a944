// skein report: a member of a team says how its work stands. Only files, like `skein msg`.
import { Fault } from "../../../protocol/api/error.ts";
import { jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { memberFiles, postMail, sharedPath, type MemberFiles } from "./member-files.ts";
import { jsonText } from "../../print/json.ts";

export const report: Command = {
  name: "report",
  summary: "inside a team: say how your work stands",
  usage: "status <text> | artifact <path> [text] | dependency <who> <reason> | complete success|failure <summary>",
  positionals: { min: 1, max: 3 },
  verbs: ["status", "artifact", "dependency", "complete"],
  flags: [
    { name: "progress", value: "0..1", summary: "with status: how much is done" },
    { name: "output", value: "path", repeat: true, summary: "with complete: what came out" },
    jsonFlag,
  ],
  notes: `Prints the id of the report. Paths are those of the shared context or of the workspace.

Examples:
  skein report status "tests pass, docs are missing" --progress 0.8
  skein report artifact "$SKEIN_SHARED_CONTEXT/api.md" "the interface"
  skein report complete success "login works" --output src/login.ts`,
  run: runReport,
};

type Verb = {
  words: readonly [number, number];
  needs: string;
  flag?: string;
  value: (args: Args, place: MemberFiles, ctx: CommandContext) => object;
};

const verbs: Record<string, Verb> = {
  status: {
    words: [2, 2],
    needs: "a text",
    flag: "progress",
    value: ({ positionals: [, message], flags }) => ({ message, progress: progressOf(flags["progress"]) }),
  },
  artifact: {
    words: [2, 3],
    needs: "a path",
    value: ({ positionals: [, path = "", description] }, place, ctx) => ({ path: sharedPath(path, place, ctx), description }),
  },
  dependency: {
    words: [3, 3],
    needs: "who is waited for, and why",
    value: ({ positionals: [, waitingFor, reason] }) => ({ waiting_for: waitingFor, reason }),
  },
  complete: {
    words: [3, 3],
    needs: "success or failure, and a summary",
    flag: "output",
    value: ({ positionals: [, result = "", summary], flags }, place, ctx) => {
      if (result !== "success" && result !== "failure") throw new Fault("usage", `work completes with success or failure, not "${result}"`);
      const outputs = (flags["output"] ?? []) as string[];
      return { result, summary, outputs: outputs.map((path) => sharedPath(path, place, ctx)) };
    },
  },
};

async function runReport(args: Args, ctx: CommandContext): Promise<number> {
  const type = args.positionals[0] as string;
  const verb = verbs[type] as Verb;
  const [least, most] = verb.words;
  const count = args.positionals.length;
  if (count < least) throw new Fault("usage", `report ${type} needs ${verb.needs}`, { hint: usageLine(report) });
  if (count > most) throw new Fault("usage", `report ${type}: "${args.positionals[most]}" is too much`, { hint: usageLine(report) });
  const odd = ["progress", "output"].find((flag) => flag !== verb.flag && args.flags[flag] !== undefined);
  if (odd !== undefined) throw new Fault("usage", `--${odd} does not go with report ${type}`, { hint: usageLine(report) });
  const place = memberFiles(ctx, "report");
  const id = postMail(place, { type, ...verb.value(args, place, ctx) }, ctx);
  ctx.out.write(args.flags["json"] ? jsonText({ id }) : `${id}\n`);
  return 0;
}

function progressOf(given: Args["flags"][string]): number | undefined {
  if (given === undefined) return undefined;
  const progress = Number(given);
  if (progress >= 0 && progress <= 1) return progress;
  throw new Fault("usage", `--progress is a number from 0 to 1, not "${String(given)}"`);
}
