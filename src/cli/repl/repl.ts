// The REPL: reads an entry, runs it as a slash command or sends it as a message, and prints the result.
// A fault ends the entry, not the conversation.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Api, SessionOpenParams, TurnStartParams } from "../../protocol/api/api.ts";
import { exitCodes, Fault } from "../../protocol/api/error.ts";
import type { Policy, PolicyName } from "../../protocol/api/policy.ts";
import { loopUntil } from "../../protocol/loops/loop-argument.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { CommandContext } from "../parse/command.ts";
import { followTurn } from "../print/follow-turn.ts";
import { screenReaderPrinter } from "../print/screen-reader.ts";
import { textPrinter } from "../print/text.ts";
import { stripControls, styleOf } from "../terminal/style.ts";
import { printFault } from "../print/print-fault.ts";
import { createAnsweringPrinter } from "./answer-asks.ts";
import { askAtTip, printAsk } from "./open-ask.ts";
import { runSlash } from "./commands.ts";
import type { Input } from "../line-editor/input.ts";
import type { TreePosition } from "./navigate.ts";
import { queueMessage } from "./session-commands.ts";

export type Repl = {
  api: Api;
  ctx: CommandContext;
  directory: string;
  /** Options of every turn. Agent and model are reset to null after a turn, because the session stores them. */
  turn: Omit<TurnStartParams, "session" | "prompt">;
  /** Null until the first message, so that a conversation without one stores no session. */
  session: Session | null;
  open: SessionOpenParams;
  /** The policy of this name, with the flags and the configuration of the conversation. */
  policyNamed: (name: PolicyName) => Policy;
  /** The last printed listing, for the numbers of /switch. */
  listing: TreePosition[];
  /** Queues a message if another process runs a turn of the session (`--queue`). */
  queuesWhenBusy: boolean;
  /** True once the current agent and model were printed. */
  isAnnounced: boolean;
  /** The user types in a terminal with the line editor. */
  usesLineEditor: boolean;
  /** The output is for a screen reader, line by line. */
  isForScreenReader: boolean;
};

/** Starts a turn and follows it to its end. Returns the exit code. A null prompt continues an interrupted turn. */
export type SendMessage = (message: { prompt: string | null; isCompaction?: true; until?: string }) => Promise<number>;

/** Runs until there are no more entries. Without a terminal the exit code is that of the first entry that failed. */
export async function runRepl(repl: Repl, input: Input, onEntry: (text: string) => void): Promise<number> {
  const { ctx } = repl;
  let exitCode = 0;
  let needsInput = false;
  let stopSignal: "SIGINT" | "SIGTERM" | null = null;
  ctx.onStop((signal) => {
    stopSignal = signal;
    if (repl.session !== null) void repl.api.turn.cancel({ session: repl.session.id });
    input.close();
  });
  const send: SendMessage = (message) => sendMessage(repl, input, message);
  while (stopSignal === null) {
    const entry = await input.next(promptText(repl));
    if (entry === null) break;
    if (entry.trim() === "") continue;
    onEntry(entry);
    try {
      const code = isSlash(entry) ? await runSlash(repl, entry.trim(), send) : await send({ prompt: entry });
      if (code === "leave") break;
      // The next entry may be the answer.
      needsInput = code === exitCodes["needs-input"];
      if (exitCode === 0 && !needsInput) exitCode = code;
    } catch (error) {
      const isBusy = error instanceof Fault && error.code === "session-busy";
      if (isBusy && repl.queuesWhenBusy && !isSlash(entry)) {
        await queueMessage(repl, entry.trim());
        continue;
      }
      const code = printFault(error, { env: ctx.env, write: ctx.err.write });
      if (isBusy) ctx.err.write("       /queue <message> runs it afterwards, /fork continues from here in a new session\n");
      if (exitCode === 0) exitCode = code;
    }
  }
  if (stopSignal !== null) return stopSignal === "SIGINT" ? 130 : 143;
  if (exitCode === 0 && needsInput) exitCode = exitCodes["needs-input"];
  return repl.usesLineEditor || repl.isForScreenReader ? 0 : exitCode;
}

/** A slash and a word at the start of a single line. A path like /etc/hosts, or a line with a leading blank, is a message. */
function isSlash(entry: string): boolean {
  return /^\/[a-z?-]*(\s.*)?$/.test(entry.trimEnd());
}

function promptText({ session, open, ctx, isForScreenReader }: Repl): string {
  if (isForScreenReader) return "You: ";
  const name = session?.name ?? open.name;
  const style = styleOf(ctx.out);
  return name === undefined || name === null ? style.bold("> ") : `${style.dim(oneLine(stripControls(name), 24))} ${style.bold("> ")}`;
}

async function sendMessage(repl: Repl, input: Input, { prompt: text, isCompaction, until }: Parameters<SendMessage>[0]): Promise<number> {
  const { api, ctx } = repl;
  const message = text?.trim() ?? null;
  if (repl.session === null) repl.session = await api.session.open({ ...repl.open, task: message });
  const session = repl.session;
  const ask = message === null ? null : await askAtTip(repl);
  if (ask !== null && message !== null) {
    await api.ask.answer({ ask: ask.id, text: message });
    const next = await askAtTip(repl);
    if (next !== null) {
      printAsk(repl, next);
      return exitCodes["needs-input"];
    }
  }
  const stop = (): void => void api.turn.cancel({ session: session.id });
  let isStopping = false;
  input.onStop(() => {
    if (!isStopping) ctx.err.write(`${styleOf(ctx.err).dim("stopping the turn…")}\n`);
    isStopping = true;
    stop();
  });
  const conversation = repl.isAnnounced ? "next" : "first";
  const plainPrinter = repl.isForScreenReader
    ? screenReaderPrinter(ctx, { conversation, directory: repl.directory })
    : textPrinter(ctx, { stream: true, tools: [], conversation, directory: repl.directory, watch: api.turn.watch });
  const answeringPrinter =
    input.answers === null ? null : createAnsweringPrinter(plainPrinter, { api, ctx, input: input.answers, isCommand: isSlash, stop });
  try {
    repl.isAnnounced = true;
    const prompt = ask === null ? message : null;
    const variant = { ...(isCompaction === true ? { compact: true } : {}), ...(until === undefined ? {} : loopUntil(until)) };
    const params = { ...repl.turn, session: session.id, prompt, ...variant };
    const result = await followTurn(api.turn.start(params), answeringPrinter ?? plainPrinter);
    Object.assign(repl.turn, { agent: null, model: null });
    if (ctx.out.isTty && !repl.isForScreenReader) ctx.out.write("\n");
    return exitCodes[result.status];
  } finally {
    answeringPrinter?.close();
    input.onStop(() => {});
    repl.session = await api.session.find({ wanted: session.id, directory: repl.directory });
  }
}
