// skein man: prints the manual page, made from the same tables as the help.
import { reportCommand } from "../report-command.ts";

export const man = reportCommand({
  name: "man",
  summary: "print the manual page",
  usage: "[--json]",
  notes: `Read it, or install it for \`man skein\`:
  skein man | man -l -
  skein man > ~/.local/share/man/man1/skein.1`,
  async report(_args, ctx) {
    const [{ groupedCommands }, { manPage }] = await Promise.all([import("../index.ts"), import("../../parse/man-page.ts")]);
    const page = manPage(await groupedCommands(), ctx.version);
    return { json: { page }, text: page };
  },
});
