// skein mcp install and skein acp install: adds skein to the configuration file of another program, or removes it.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import type { InstallClient, ServerCommand } from "../../../mcp/install/clients.ts";
import { applyInstall, planInstall, planRemoval, type InstallOutcome } from "../../../mcp/install/install.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { printReport } from "../report-command.ts";

export type InstallOptions = {
  command: "mcp" | "acp";
  clients: readonly InstallClient[];
  /** Selects the configuration file of a project; null selects the user's. */
  project: string | null;
  /** Arguments after the command. */
  serverArgs: string[];
};

export async function installServer(args: Args, ctx: CommandContext, options: InstallOptions): Promise<number> {
  const { command, project, serverArgs } = options;
  const client = findClient(args.positionals[1], options);
  const file =
    project !== null && client.projectFile !== null ? client.projectFile(project) : client.file({ ...ctx, platform: process.platform });
  const commandArgs = [...(project !== null && client.projectFile === null ? ["--project", project] : []), ...serverArgs];
  const isRemoval = args.flags["remove"] === true;
  const plan = isRemoval
    ? await planRemoval(client, file)
    : await planInstall(client, file, await createServerCommand(ctx, [command, ...commandArgs]));
  const isDryRun = args.flags["print"] === true;
  const { backup } = isDryRun ? { backup: null } : applyInstall(plan);
  const { outcome, snippet } = plan;
  const written = !isDryRun && plan.after !== (plan.before ?? "");
  return printReport(args, ctx, {
    json: { client: client.name, file, outcome, written, backup, snippet },
    text: () => {
      const { done, planned } = outcomeTexts[outcome];
      if (isDryRun) return `${planned} ${file}\n\n${snippet}`;
      return `${done(client.title)} ${file}\n${backup === null ? "" : `backup: ${backup}\n`}`;
    },
    remarks: (style) => (client.note === undefined || isRemoval ? "" : style.dim(`${client.note}\n`)),
  });
}

function findClient(name: string | undefined, { command, clients }: InstallOptions): InstallClient {
  const names = clients.map((client) => client.name);
  if (name === undefined) throw new Fault("usage", `${command} install needs a client: ${names.join(", ")}`);
  const client = clients.find((candidate) => candidate.name === name);
  if (client !== undefined) return client;
  const nearest = nearestWord(name, names);
  const hint = nearest === null ? {} : { hint: `did you mean "${nearest}"?` };
  throw new Fault("usage", `${command} install takes ${names.join(", ")}, not "${name}"`, hint);
}

async function createServerCommand(ctx: CommandContext, skeinArgs: string[]): Promise<ServerCommand> {
  const [command, ...prefix] = stableCommand(ctx.selfCommand);
  const variables = await listVariables(ctx);
  return { command: command!, args: [...prefix, ...skeinArgs], variables, path: ctx.env["PATH"] ?? "" };
}

/** Prefers the script bin/skein, because it finds its Bun even after Bun was updated. */
function stableCommand(selfCommand: readonly string[]): readonly string[] {
  const script = selfCommand.length > 1 ? join(dirname(selfCommand.at(-1)!), "..", "bin", "skein") : null;
  return script !== null && existsSync(script) ? [script] : selfCommand;
}

/** Names of the variables with keys in use, and of those that change the address of skein or a vendor. */
async function listVariables(ctx: CommandContext): Promise<string[]> {
  const vendors = await (await ctx.api({ lenient: true })).auth.status();
  const sources = new Set(vendors.flatMap(({ source, agents = [] }) => [source, ...agents.map((agent) => agent.source)]));
  return Object.keys(ctx.env)
    .filter((name) => ctx.env[name] && (sources.has(name) || /^(SKEIN_HOME|OLLAMA_HOST|\w+_BASE_URL)$/.test(name)))
    .toSorted();
}

/** The outcome for the file of a client: `done` after a change, `planned` with --print. */
const outcomeTexts: Record<InstallOutcome, { done: (title: string) => string; planned: string }> = {
  added: { done: (title) => `${title} uses skein from its next start; changed`, planned: "would be written to" },
  changed: { done: (title) => `${title} uses skein from its next start; changed`, planned: "would be written to" },
  unchanged: { done: (title) => `nothing to change: ${title} already has skein in`, planned: "is already in" },
  removed: { done: (title) => `skein was removed from ${title}; changed`, planned: "would be removed from" },
  absent: { done: (title) => `nothing to remove: ${title} does not have skein in`, planned: "nothing to remove from" },
};
