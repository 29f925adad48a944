// skein update: prints the command that updates this installation. It runs nothing and asks no server.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { shellQuote } from "../../../kit/text/shell-quote.ts";
import type { CommandContext } from "../../parse/command.ts";
import { reportCommand } from "../report-command.ts";

export const update = reportCommand({
  name: "update",
  summary: "print the command that updates this installation",
  usage: "[--json]",
  notes: `skein changes nothing by itself and looks for no newer version. To remove it, remove
what it was installed as; \`skein config path\` names its configuration and data.`,
  async report(_args, ctx) {
    const { installedAs, path, commands } = installationOf(ctx);
    return {
      json: { version: ctx.version, installedAs, path, commands },
      text: () =>
        `skein ${ctx.version}, ${installedAs} at ${path}\nupdate it with:\n${commands.map((command) => `  ${command}\n`).join("")}`,
    };
  },
});

type Installation = { installedAs: string; path: string; commands: string[] };

export function installationOf({ selfCommand }: Pick<CommandContext, "selfCommand">): Installation {
  const program = selfCommand.at(-1) ?? "";
  if (selfCommand.length === 1)
    return {
      installedAs: "an executable",
      path: program,
      commands: ["git pull && npm ci --ignore-scripts && npm run build    # in the checkout", `cp dist/skein ${shellQuote(program)}`],
    };
  const root = dirname(dirname(program));
  if (existsSync(join(root, ".git")))
    return {
      installedAs: "a checkout",
      path: root,
      commands: [`git -C ${shellQuote(root)} pull`, `npm --prefix ${shellQuote(root)} ci --ignore-scripts`],
    };
  return {
    installedAs: "an npm package",
    path: root,
    commands: ["npm pack                              # in an updated checkout", "npm install -g ./skein-<version>.tgz"],
  };
}
