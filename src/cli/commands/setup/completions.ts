// skein completions: prints a script that completes commands and flags in a shell.
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { completionScript, shells, type Shell } from "../../parse/completions.ts";
import { jsonText } from "../../print/json.ts";

export const completions: Command = {
  name: "completions",
  summary: "print the completion script of a shell",
  usage: "bash|zsh|fish",
  positionals: { min: 1, max: 1 },
  verbs: shells,
  flags: [jsonFlag],
  notes: `Examples:
  echo 'source <(skein completions bash)' >> ~/.bashrc
  skein completions zsh > "\${fpath[1]}/_skein"
  skein completions fish > ~/.config/fish/completions/skein.fish`,
  run: runCompletions,
};

async function runCompletions(args: Args, ctx: CommandContext): Promise<number> {
  const shell = args.positionals[0] as Shell;
  const { allCommands } = await import("../index.ts");
  const script = completionScript(shell, await allCommands());
  ctx.out.write(args.flags["json"] ? jsonText({ shell, script }) : script);
  return 0;
}
