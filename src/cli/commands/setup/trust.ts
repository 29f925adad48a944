// skein trust: let a project's own files widen what skein does, as long as they stay as they are now.
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
  flags: [{ name: "show", summary: "only say whether it is trusted" }, { name: "revoke", summary: "take trust back" }, jsonFlag],
  notes: `Until then a project may only narrow: its base URLs, keys, commands, wider
policies, network and write paths are ignored. Any change to these files takes
trust away again.`,
  run: runTrust,
};

async function runTrust(args: Args, ctx: CommandContext): Promise<number> {
  if (args.flags["show"] && args.flags["revoke"])
    throw new Fault("usage", "--show and --revoke exclude each other", { hint: usageLine(trust) });
  const directory = args.positionals[0] === undefined ? ctx.project : directoryFrom(args.positionals[0], ctx);
  const api = await ctx.api();
  const ask = args.flags["show"] ? api.trust.show : args.flags["revoke"] ? api.trust.revoke : api.trust.grant;
  const state = await ask({ directory });
  if (args.flags["json"]) {
    ctx.out.write(jsonText(state));
    return 0;
  }
  const style = styleOf(ctx.out);
  const place = stripControls(state.directory);
  if (state.files.length === 0) ctx.out.write(`${place}: nothing in this project needs trust\n`);
  else
    ctx.out.write(
      `${place} is ${state.trusted ? style.green("trusted") : style.yellow("not trusted")}${state.trusted ? "" : because(state.reason)}\n`,
    );
  for (const file of state.files) ctx.out.write(`  ${stripControls(file)}\n`);
  return 0;
}

function directoryFrom(text: string, ctx: CommandContext): string {
  const directory = absolutePath(text, ctx);
  if (!isDirectory(directory)) throw new Fault("usage", `there is no directory ${directory}`);
  return directory;
}

function because(reason: string | undefined): string {
  return reason === undefined ? "" : ` (${stripControls(reason)})`;
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
