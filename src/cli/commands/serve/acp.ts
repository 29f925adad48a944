// skein acp: serves skein to editors as an agent of the Agent Client Protocol, over stdin and stdout.
import { Fault } from "../../../protocol/api/error.ts";
import { refuseNesting } from "../../../protocol/api/nesting.ts";
import { jsonFlag, usageLine } from "../../parse/args.ts";
import { type Args, type Command, type CommandContext, isInteractive } from "../../parse/command.ts";
import { connectHubFor } from "../run/detach.ts";
import { cacheConnections, waitsText } from "./connections.ts";

export const acp: Command = {
  name: "acp",
  summary: "serve skein to editors as an agent of the Agent Client Protocol",
  usage: "[login [name] | install <client> [--print] [--remove]]",
  positionals: { min: 0, max: 2 },
  verbs: ["login", "install"],
  flags: [
    { name: "print", summary: "with install: print the change and its file, and write nothing" },
    { name: "remove", summary: "with install: remove skein from the settings" },
    jsonFlag,
  ],
  notes: `The editor starts this program and closes it. docs/EDITORS.md has the settings of Zed,
JetBrains, Neovim, Emacs and others. Turns run in the hub, which is started if
necessary. They continue when the editor exits, and \`skein ps\`, \`attach\`, \`logs\` and
the screen show the same sessions. An editor can load every session of its project.

Agent, model, effort and policy are options of a session. Change the agent between
two messages, and the next one continues the same conversation.

install adds skein to the settings of a program: zed, jetbrains or acpx. login prints
which key or sign-in is missing, for editors that open a terminal.`,
  async run(args, ctx) {
    const [verb, ...rest] = args.positionals;
    if (verb === "install") return install(args, ctx);
    const misplaced = ["print", "remove", ...(verb === "login" ? [] : ["json"])].find((flag) => args.flags[flag] !== undefined);
    if (misplaced !== undefined) throw new Fault("usage", `--${misplaced} goes with acp install`, { hint: usageLine(acp) });
    if (verb === "login") {
      const { auth } = await import("../setup/auth.ts");
      return auth.run({ ...args, positionals: ["login", ...rest] }, ctx);
    }
    refuseNesting(ctx.enclosingSession());
    if (isInteractive(ctx)) ctx.err.write(waitsText("acp", "an editor"));
    const { serveOverStdio } = await import("../../../acp/server/stdio.ts");
    await serveOverStdio({
      version: ctx.version,
      directory: ctx.cwd,
      projectOf: ctx.projectOf,
      connect: cacheConnections((directory) => connectHubFor(ctx, { cwd: directory })),
      log: (line) => ctx.err.write(`skein acp: ${line}\n`),
      write: (bytes) => ctx.writeBytes("stdout", bytes),
      onStop: ctx.onStop,
    });
    return 0;
  },
};

async function install(args: Args, ctx: CommandContext): Promise<number> {
  const [{ installServer }, { acpClients }] = await Promise.all([import("./install.ts"), import("./acp-clients.ts")]);
  return installServer(args, ctx, { command: "acp", clients: acpClients, project: null, serverArgs: [] });
}
