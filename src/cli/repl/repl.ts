// The REPL: reads an entry, takes it as a slash command or as a message, and shows what comes of it. A fault ends
// the entry, not the conversation.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Ask } from "../../protocol/api/control.ts";
import type { Api, SessionOpenParams, TurnStartParams } from "../../protocol/api/api.ts";
import { exitCodes, Fault } from "../../protocol/api/error.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { CommandContext } from "../parse/command.ts";
import { followTurn } from "../print/follow-turn.ts";
import { askLines } from "../print/event-lines.ts";
import { questionLines, screenReaderPrinter } from "../print/spoken.ts";
import { textPrinter } from "../print/text.ts";
import { stripControls, styleOf } from "../terminal/style.ts";
import { printFault } from "../print/print-fault.ts";
import { createAnsweringPrinter } from "./answer-asks.ts";
import { runSlash } from "./commands.ts";
import type { Input } from "./input.ts";
import type { TreePosition } from "./navigate.ts";

export type Repl = {
  api: Api;
  door: CommandContext;
  directory: string;
  /** How every turn is taken. Who takes it and with which model stays the session's: after a turn both are null again. */
  turn: Omit<TurnStartParams, "session" | "prompt">;
  /** Null until the first message: a look around leaves nothing behind. */
  session: Session | null;
  open: SessionOpenParams;
  /** What the numbers of /switch mean. */
  listing: TreePosition[];
  /** Whether it was told who takes the turns, since that last changed. */
  announced: boolean;
  /** A person types and reads, key by key. */
  isWatched: boolean;
  /** A person types line by line and listens. */
  isSpoken: boolean;
};

/** Runs until there are no more entries. The exit code is that of the first entry that failed, where no person watched. */
export async function runRepl(repl: Repl, input: Input, onEntry: (text: string) => void): Promise<number> {
  const { door } = repl;
  let failed = 0;
  let isAsked = false;
  let stopped: "SIGINT" | "SIGTERM" | null = null;
  door.onStop((signal) => {
    stopped = signal;
    if (repl.session !== null) void repl.api.turn.cancel({ session: repl.session.id });
    input.close();
  });
  while (stopped === null) {
    const entry = await input.next(promptOf(repl));
    if (entry === null) break;
    if (entry.trim() === "") continue;
    onEntry(entry);
    try {
      const code = isSlash(entry) ? await runSlash(repl, entry.trim()) : await sendMessage(repl, input, entry);
      if (code === "leave") break;
      // The next entry may be the answer.
      isAsked = code === exitCodes["needs-input"];
      if (failed === 0 && !isAsked) failed = code;
    } catch (error) {
      const code = printFault(error, { env: door.env, write: door.err.write });
      if (error instanceof Fault && error.code === "session-busy")
        door.err.write("       /fork goes on from here in a session of your own\n");
      if (failed === 0) failed = code;
    }
  }
  if (stopped !== null) return stopped === "SIGINT" ? 130 : 143;
  if (failed === 0 && isAsked) failed = exitCodes["needs-input"];
  return repl.isWatched || repl.isSpoken ? 0 : failed;
}

/** A slash and a word on a line of its own; a path like /etc/hosts, or a blank before it, is a message. */
function isSlash(entry: string): boolean {
  return /^\/[a-z?]*(\s.*)?$/.test(entry.trimEnd());
}

function promptOf({ session, open, door, isSpoken }: Repl): string {
  if (isSpoken) return "You: ";
  const name = session?.name ?? open.name;
  const style = styleOf(door.out);
  return name === undefined || name === null ? style.bold("> ") : `${style.dim(oneLine(stripControls(name), 24))} ${style.bold("> ")}`;
}

async function sendMessage(repl: Repl, input: Input, text: string): Promise<number> {
  const { api, door } = repl;
  const words = text.trim();
  if (repl.session === null) repl.session = await api.session.open({ ...repl.open, task: words });
  const session = repl.session;
  const asked = await askAtTip(repl);
  if (asked !== null) {
    await api.ask.answer({ ask: asked.id, text: words });
    const next = await askAtTip(repl);
    if (next !== null) {
      showAsk(repl, next);
      return exitCodes["needs-input"];
    }
  }
  let isStopping = false;
  input.onStop(() => {
    if (!isStopping) door.err.write(`${styleOf(door.err).dim("stopping the turn…")}\n`);
    isStopping = true;
    void api.turn.cancel({ session: session.id });
  });
  const stop = (): void => void api.turn.cancel({ session: session.id });
  const talk = repl.announced ? "next" : "first";
  const plainPrinter = repl.isSpoken ? screenReaderPrinter(door, { talk }) : textPrinter(door, { stream: true, tools: [], talk });
  const asking =
    input.answers === null ? null : createAnsweringPrinter(plainPrinter, { api, door, input: input.answers, isCommand: isSlash, stop });
  try {
    repl.announced = true;
    const prompt = asked === null ? words : null;
    const result = await followTurn(api.turn.start({ ...repl.turn, session: session.id, prompt }), asking ?? plainPrinter);
    Object.assign(repl.turn, { agent: null, model: null });
    if (door.out.isTty && !repl.isSpoken) door.out.write("\n");
    return exitCodes[result.status];
  } finally {
    asking?.close();
    input.onStop(() => {});
    repl.session = await api.session.find({ wanted: session.id, directory: repl.directory });
  }
}

/** The oldest question at the session's tip that its last turn left open: the next entry is the answer. */
export async function askAtTip({ api, session }: Repl): Promise<Ask | null> {
  if (session === null) return null;
  const open = await api.ask.list({ session: session.id });
  if (open.length === 0) return null;
  const { tip } = await api.session.find({ wanted: session.id, directory: session.directory });
  const turn = tip === null ? null : (await api.node.find({ wanted: tip })).turn;
  return open.find((ask) => ask.turn === turn) ?? null;
}

export function showAsk({ door, isSpoken }: Repl, ask: Ask): void {
  if (isSpoken)
    return door.out.write(
      questionLines(ask)
        .map((line) => `${line}\n`)
        .join(""),
    );
  for (const line of askLines(ask, { style: styleOf(door.err), columns: door.err.columns }, "typed")) door.err.write(`${line}\n`);
}
