// skein chat: a conversation in the terminal, or line by line from a pipe. Its session is stored and can be continued.
import type { Api, SessionOpenParams, Settings, TurnStartParams } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId, textOf } from "../../../protocol/tree/node.ts";
import { isInteractive, type Command, type CommandContext, type Flag } from "../../parse/command.ts";
import { oneLine, pluralize } from "../../../kit/text/cut-text.ts";
import { shellQuote } from "../../../kit/text/shell-quote.ts";
import { nodeLines } from "../../print/screen-reader.ts";
import { runFlags, screenReaderFlag, runFlagGroups } from "./run-flags.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { completeEntry } from "../../repl/complete.ts";
import { slashCommands } from "../../repl/commands.ts";
import { historyFile, openHistory } from "../../line-editor/history.ts";
import { lineInput, type Input } from "../../line-editor/input.ts";
import { printableLabel } from "../../print/session-label.ts";
import { askAtTip, printAsk } from "../../repl/open-ask.ts";
import { runRepl, type Repl } from "../../repl/repl.ts";
import { TerminalInput } from "../../line-editor/terminal-input.ts";
import { isMessage } from "../../repl/navigate.ts";
import { readFlags, loadRole, buildSessionOpen, buildTurn, type Flags } from "./run.ts";
import { resolvePolicy } from "./policy-flags.ts";

const chatFlagNames = new Set(
  "model agent provider role continue worktree with-changes with-ignored system append-system no-context-files tool-level tools no-spawn allow-nesting policy sandbox net allow-write add-dir max-steps max-tokens max-budget-usd timeout at-limit wait-at-most check no-check check-timeout transcript-dir ephemeral cd trust no-trust".split(
    " ",
  ),
);

/** Whether to print for a screen reader: by flag, configuration or the variable ACCESSIBLE. */
export function usesScreenReader(flags: Flags, settings: Settings, { env, stdin }: CommandContext): boolean {
  return flags.on("screen-reader") || (stdin.isTty && (settings.screenReader || !["", "0", undefined].includes(env["ACCESSIBLE"])));
}

const queueFlag: Flag = { name: "queue", summary: "a message to a session that another process works on runs afterwards, in the hub" };

export const chat: Command = {
  name: "chat",
  summary: "talk with an agent, and move in the tree of the conversation",
  usage: "[session] [flags]",
  positionals: { min: 0, max: 1 },
  flags: [screenReaderFlag, queueFlag, ...runFlags.filter((flag) => chatFlagNames.has(flag.name))],
  flagGroups: runFlagGroups,
  notes: `Without a session it starts a new one; an unknown name of one word starts one of that name.
Limits of time, money and steps hold for each turn. When the agent asks something,
the next line is the answer, or the number of one of its options.

In the conversation:
${slashCommands.map(({ name, usage, summary }) => `  ${`/${name} ${usage}`.padEnd(32)}${summary}`).join("\n")}

Without a terminal each line of stdin is a message or a slash command, and the exit code is that of the first that failed:
  printf '%s\\n' 'list the files' /tree | skein chat`,
  async run(args, ctx) {
    const flags = readFlags(args, ctx);
    const [sessionName] = args.positionals;
    if (sessionName !== undefined && flags.on("continue")) throw new Fault("usage", "a session and --continue exclude each other");
    if (sessionName !== undefined && flags.on("ephemeral")) throw new Fault("usage", "a session and --ephemeral exclude each other");
    return openChat(flags, ctx, { session: sessionName, task: null });
  },
};

/** `task` is the first message. */
type ChatStart = { session: string | undefined; task: string | null };

export async function openChat(flags: Flags, ctx: CommandContext, { session: sessionName, task }: ChatStart): Promise<number> {
  const { directory, trust } = flags;
  const ephemeral = flags.on("ephemeral");
  const api = await ctx.api({ ephemeral, ...(trust === null ? {} : { trust }), cwd: directory });
  const settings = await api.config.values();
  const isForScreenReader = usesScreenReader(flags, settings, ctx);
  const usesLineEditor = !isForScreenReader && isInteractive(ctx);
  const asks: TurnStartParams["asks"] = usesLineEditor ? { how: "wait", limitMs: null } : { how: "later" };
  const turn = { ...buildTurn(flags, settings, ctx), asks };
  const role = await loadRole(api, flags);
  const open = sessionOpenOf(buildSessionOpen(flags, settings, null, { toolLevel: turn.toolLevel, role }), sessionName);
  const isNew = open.find.by === "new";
  // For an existing session the agent is not known yet, so --agent-arg is checked when the turn starts.
  const agentArgs = isNew || turn.agent !== null ? turn.agentArgs : [];
  await api.turn.check({ ...turn, agentArgs, agent: open.agent, isNew, directory });
  if (sessionName !== undefined) await refuseMessage(api, sessionName, directory);
  const session = isNew ? null : await api.session.open(open);
  const policyNamed: Repl["policyNamed"] = (name) => resolvePolicy({ ...flags.policy, name }, settings, turn.toolLevel);
  const conversation = { listing: [], isAnnounced: false, usesLineEditor, isForScreenReader, queuesWhenBusy: flags.on("queue") };
  const repl: Repl = { api, ctx, directory, turn, session, open, policyNamed, ...conversation };
  await printGreeting(repl);
  const history = openHistory(ephemeral || !usesLineEditor ? null : historyFile((await api.config.paths()).state, ctx.project));
  const input: Input = usesLineEditor
    ? await TerminalInput.open(ctx, { history, complete: (line) => completeEntry(repl, line) })
    : lineInput(ctx, { echoPrompts: isForScreenReader });
  try {
    return await runRepl(repl, task === null ? input : withFirst(input, task), history.add);
  } finally {
    input.close();
    printFarewell(repl, ephemeral);
  }
}

/** The input with an entry before all others. */
function withFirst(input: Input, entry: string): Input {
  let first: string | null = entry;
  return {
    ...input,
    next(prompt) {
      const next = first;
      first = null;
      return next === null ? input.next(prompt) : Promise.resolve(next);
    },
  };
}

/** A text with blanks that is no session's name is most likely a message. It must not become the name of an empty session. */
async function refuseMessage(api: Api, text: string, directory: string): Promise<void> {
  if (!/\s/.test(text.trim())) return;
  try {
    await api.session.find({ wanted: text, directory });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "session-unknown") throw error;
    const quoted = shellQuote(text);
    throw new Fault("session-unknown", `there is no session "${oneLine(text, 60)}"`, {
      hint: `chat takes a session; to send a message: skein run ${quoted}; to start a session of that name: skein new ${quoted}`,
    });
  }
}

/** A new session gets its id before its first message, so that the greeting can print it. */
function sessionOpenOf(open: SessionOpenParams, name: string | undefined): SessionOpenParams {
  if (name !== undefined) return { ...open, find: { by: "name", wanted: name, orCreate: true } };
  return open.find.by === "new" ? { ...open, id: Bun.randomUUIDv7() } : open;
}

async function printGreeting(repl: Repl): Promise<void> {
  const { api, ctx, session, open } = repl;
  const style = styleOf(ctx.err);
  const print = (text: string) => ctx.err.write(`${text}\n`);
  const help = style.dim("· /help lists the commands");
  if (session === null || session.tip === null) {
    print(`New session ${session === null ? shortId(open.id ?? "") : printableLabel(session)} ${help}`);
    return;
  }
  const messages = (await api.node.path({ node: session.tip })).filter(isMessage);
  print(`Session ${printableLabel(session)}, ${pluralize(messages.length, "message")} ${help}`);
  if (repl.isForScreenReader) print(messages.slice(-2).flatMap(nodeLines).join("\n"));
  else
    for (const node of messages.slice(-2))
      print(style.dim(`  ${node.author === "user" ? ">" : " "} ${oneLine(textOf(node), ctx.err.columns - 6)}`));
  const ask = await askAtTip(repl);
  if (ask !== null) printAsk(repl, ask);
}

function printFarewell({ ctx, session }: Repl, ephemeral: boolean): void {
  if (session === null || ephemeral) return;
  const name = session.name === null ? shortId(session.id) : shellQuote(stripControls(session.name));
  ctx.err.write(`Session saved. Resume with: skein chat ${name}\n`);
}
