// skein completions: prints a script that completes commands and flags in a shell.
import { completionScript, shells, type Shell } from "../../parse/completions.ts";
import { reportCommand } from "../report-command.ts";

export const completions = reportCommand({
  name: "completions",
  summary: "print the completion script of a shell",
  usage: "bash|zsh|fish",
  positionals: { min: 1, max: 1 },
  verbs: shells,
  notes: `Examples:
  echo 'source <(skein completions bash)' >> ~/.bashrc
  skein completions zsh > "\${fpath[1]}/_skein"
  skein completions fish > ~/.config/fish/completions/skein.fish`,
  async report(args) {
    const shell = args.positionals[0] as Shell;
    const { allCommands } = await import("../index.ts");
    const script = completionScript(shell, await allCommands());
    return { json: { shell, script }, text: script };
  },
});
