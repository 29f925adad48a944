// skein trust: lets a project's own files extend skein's permissions, until one of them changes.
import { statSync } from "node:fs";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const trust: Command = {
  name: "trust",
  summary: "accept a project's config, roles and agents as they are now",
  usage: "[directory] [--show | --revoke] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [{ name: "show", summary: "only show whether it is trusted" }, { name: "revoke", summary: "revoke the trust" }, jsonFlag],
  notes: `The config of an untrusted project may only restrict permissions. Its base URLs,
keys, commands, wider policies, network and write paths are ignored. Any change to these files
revokes the trust.`,
  run: runTrust,
};

async function runTrust(args: Args, ctx: CommandContext): Promise<number> {
  if (args.flags["show"] && args.flags["revoke"])
    throw new Fault("usage", "--show and --revoke exclude each other", { hint: usageLine(trust) });
  const directory = args.positionals[0] === undefined ? ctx.project : resolveDirectory(args.positionals[0], ctx);
  const api = await ctx.api();
  const method = args.flags["show"] ? api.trust.show : args.flags["revoke"] ? api.trust.revoke : api.trust.grant;
  const state = await method({ directory });
  if (args.flags["json"]) {
    ctx.out.write(jsonText(state));
    return 0;
  }
  const style = styleOf(ctx.out);
  const label = stripControls(state.directory);
  if (state.files.length === 0) ctx.out.write(`${label}: nothing in this project needs trust\n`);
  else
    ctx.out.write(
      `${label} is ${state.trusted ? style.green("trusted") : style.yellow("not trusted")}${state.trusted ? "" : reasonText(state.reason)}\n`,
    );
  for (const file of state.files) ctx.out.write(`  ${stripControls(file)}\n`);
  return 0;
}

function resolveDirectory(text: string, ctx: CommandContext): string {
  const directory = absolutePath(text, ctx);
  if (!isDirectory(directory)) throw new Fault("usage", `there is no directory ${directory}`);
  return directory;
}

function reasonText(reason: string | undefined): string {
  return reason === undefined ? "" : ` (${stripControls(reason)})`;
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
