// skein mcp install: makes skein known to a program that speaks MCP, in that program's own configuration file.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import { installClients, type InstallClient, type ServerCommand } from "../../../mcp/install/clients.ts";
import { applyInstall, planInstall, planRemoval, type InstallOutcome } from "../../../mcp/install/install.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { styleOf } from "../../terminal/style.ts";

/** `project` is the directory whose file is meant, `serverArgs` what the server is started with besides. */
export type InstallOptions = { project: string | null; serverArgs: string[] };

export async function installServer(args: Args, ctx: CommandContext, { project, serverArgs }: InstallOptions): Promise<number> {
  const row = clientNamed(args.positionals[1]);
  const file = project !== null && row.projectFile !== null ? row.projectFile(project) : row.file({ ...ctx, platform: process.platform });
  const words = [...(project !== null && row.projectFile === null ? ["--project", project] : []), ...serverArgs];
  const isRemoval = args.flags["remove"] === true;
  const plan = isRemoval ? await planRemoval(row, file) : await planInstall(row, file, await serverOf(ctx, words));
  const isShown = args.flags["print"] === true;
  const { backup } = isShown ? { backup: null } : applyInstall(plan);
  if (args.flags["json"]) {
    const { outcome, snippet } = plan;
    ctx.out.write(jsonText({ client: row.name, file, outcome, written: !isShown && plan.after !== (plan.before ?? ""), backup, snippet }));
    return 0;
  }
  if (isShown) ctx.out.write(`${wouldText(plan.outcome)} ${file}\n\n${plan.snippet}`);
  else ctx.out.write(`${doneText(plan.outcome, row)} ${file}\n${backup === null ? "" : `as it was before: ${backup}\n`}`);
  if (row.note !== undefined && !isRemoval) ctx.err.write(styleOf(ctx.err).dim(`${row.note}\n`));
  return 0;
}

function clientNamed(name: string | undefined): InstallClient {
  const names = installClients.map((row) => row.name);
  if (name === undefined) throw new Fault("usage", `mcp install needs a client: ${names.join(", ")}`);
  const found = installClients.find((row) => row.name === name);
  if (found !== undefined) return found;
  const near = nearestWord(name, names);
  throw new Fault(
    "usage",
    `mcp install knows ${names.join(", ")}, not "${name}"`,
    near === null ? {} : { hint: `did you mean "${near}"?` },
  );
}

async function serverOf(ctx: CommandContext, serverArgs: string[]): Promise<ServerCommand> {
  const [command, ...words] = startOf(ctx.selfCommand);
  const variables = await variablesOf(ctx);
  return { command: command!, args: [...words, "mcp", ...serverArgs], variables, path: ctx.env["PATH"] ?? "" };
}

/** The script that finds its own Bun, where there is one: it stays when Bun is updated. */
function startOf(self: readonly string[]): readonly string[] {
  const script = self.length > 1 ? join(dirname(self.at(-1)!), "..", "bin", "skein") : null;
  return script !== null && existsSync(script) ? [script] : self;
}

/** Keys that would be used, and what moves skein or a vendor to another place. */
async function variablesOf(ctx: CommandContext): Promise<string[]> {
  const rows = await (await ctx.api({ lenient: true })).auth.status();
  const sources = new Set(rows.flatMap(({ source, agents = [] }) => [source, ...agents.map((own) => own.source)]));
  return Object.keys(ctx.env)
    .filter((name) => ctx.env[name] && (sources.has(name) || /^(SKEIN_HOME|OLLAMA_HOST|\w+_BASE_URL)$/.test(name)))
    .toSorted();
}

function doneText(outcome: InstallOutcome, { title }: InstallClient): string {
  if (outcome === "unchanged") return `nothing to change: ${title} knows skein already, in`;
  if (outcome === "absent") return `nothing to remove: ${title} does not know skein in`;
  if (outcome === "removed") return `${title} no longer knows skein; changed`;
  return `${title} knows skein from its next start; changed`;
}

function wouldText(outcome: InstallOutcome): string {
  if (outcome === "unchanged") return "stands already in";
  if (outcome === "absent") return "nothing to remove from";
  return outcome === "removed" ? "would be taken out of" : "would be written to";
}
