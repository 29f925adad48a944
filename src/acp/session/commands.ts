// The slash commands that a client offers its user. Their texts are those of the terminal, so that one word means one thing.
import type { AvailableCommand } from "@agentclientprotocol/sdk";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Api } from "../../protocol/api/api.ts";
import { compactPrompt, initPrompt, reviewPrompt, slashNameOf, slashTable, type SlashName } from "../../protocol/api/slash-commands.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { sessionLabel, type Session } from "../../protocol/tree/turn.ts";
import { invalidParams } from "../server/request-errors.ts";

/** A turn to start, or a text for the user. A null prompt continues an interrupted turn. */
export type CommandOutcome = { prompt: string | null; compact?: true } | { message: string };

type CommandContext = { api: Api; session: Session };
type RunCommand = (argument: string, ctx: CommandContext) => CommandOutcome | Promise<CommandOutcome>;

const commands: Partial<Record<SlashName, RunCommand>> = {
  compact: () => ({ prompt: compactPrompt, compact: true }),
  review: (what) => ({ prompt: reviewPrompt(what) }),
  init: () => ({ prompt: initPrompt() }),
  continue: () => ({ prompt: null }),
  undo: (_, ctx) => moveTurn("undo", ctx),
  redo: (_, ctx) => moveTurn("redo", ctx),
  async fork(name, { api, session }) {
    const forked = await api.session.fork({ session: session.id, at: null, name: name === "" ? null : name });
    return { message: `Forked as ${sessionLabel(forked)} (session ${forked.id}). This thread stays where it is.` };
  },
  async graft(wanted, { api, session }) {
    if (wanted === "") throw invalidParams("graft needs a session: /graft <session>");
    const from = await api.session.find({ wanted, directory: session.directory });
    await api.graft.make({ from: from.id, into: session.id });
    return { message: `The conclusion of ${sessionLabel(from)} is part of this session now.` };
  },
};

export const availableCommands: AvailableCommand[] = (Object.keys(commands) as SlashName[]).map((name) => {
  const { usage, summary } = slashTable[name];
  return { name, description: summary, ...(usage === "" ? {} : { input: { hint: usage.replace("|number", "") } }) };
});

/** Null if the text is no command that skein has here. Such a text is an ordinary prompt. */
export function findCommand(text: string): ((ctx: CommandContext) => CommandOutcome | Promise<CommandOutcome>) | null {
  const [, word, argument = ""] = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  const name = word === undefined ? null : slashNameOf(word);
  const run = name === null ? undefined : commands[name];
  return run === undefined ? null : (ctx) => run(argument.trim(), ctx);
}

async function moveTurn(direction: "undo" | "redo", { api, session }: CommandContext): Promise<CommandOutcome> {
  const { turn, prompt, changes, kept } = await api.session[direction]({ session: session.id, dryRun: false });
  const subject = prompt === null ? `turn ${shortId(turn)}` : `"${oneLine(prompt, 80)}"`;
  const files = changes.map(({ path }) => `- ${path}`);
  const unchanged = kept.map((path) => `- ${path} stays as it is`);
  return { message: [`${direction === "undo" ? "Took back" : "Put back"} ${subject}.`, ...files, ...unchanged].join("\n") };
}
