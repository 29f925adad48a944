// The entry of the command line: finds the command, parses its arguments, prints help and faults. Returns the exit code.
// Words and flags that skein does not have are looked up in the tables of other programs' words before they are refused.
import { parseArgs, surplusHintOf, UnknownFlagFault } from "./parse/args.ts";
import { isInteractive, type Args, type Command, type CommandContext } from "./parse/command.ts";
import { commandNames, findCommand, groupedCommands } from "./commands/index.ts";
import { Fault } from "../protocol/api/error.ts";
import { printFault } from "./print/print-fault.ts";

export async function runCli(argv: string[], ctx: CommandContext): Promise<number> {
  try {
    return await dispatch(argv, ctx);
  } catch (error) {
    return printFault(error, { env: ctx.env, write: ctx.err.write });
  }
}

async function dispatch(argv: string[], ctx: CommandContext): Promise<number> {
  const [first, ...otherArgs] = argv.length === 0 && isInteractive(ctx) ? ["tui"] : argv;
  if (first === undefined || first === "help" || first === "--help" || first === "-h")
    return printHelp(otherArgs, ctx, first === undefined);
  if (first === "--version" || first === "-V" || (first === "-v" && argv.length === 1)) {
    ctx.out.write(`skein ${ctx.version}\n`);
    return 0;
  }
  const hasCommand = !first.startsWith("-") && !isTask(first);
  const args = hasCommand ? otherArgs : argv;
  if (asksForHelp(args)) return printHelp(hasCommand ? argv.filter((word) => !word.startsWith("-")) : ["run"], ctx, false);
  if (!hasCommand) return runWithoutCommand(argv, ctx);
  const command = await findCommand(first);
  if (command === null || isUnknownVerb(command, args)) {
    const { translateWords } = await import("./parse/other-words.ts");
    const meant = translateWords(argv);
    if (meant !== null) return dispatch(meant, ctx);
  }
  if (command === null) return (await import("./commands/unknown-command.ts")).runUnknownWord(argv, ctx, dispatch);
  return command.run(await readArgs(command, args, ctx), ctx);
}

/** A text with a blank, or in another script, can't be a misspelled command. */
function isTask(word: string): boolean {
  return /\s|[^\0-\x7f]/.test(word.trim());
}

/** Whether the first argument can't be one of the command's, so that it may be another program's word. */
function isUnknownVerb({ verbs, positionals }: Command, [first]: readonly string[]): boolean {
  if (first === undefined || first.startsWith("-")) return false;
  return verbs === undefined ? positionals.max === 0 : !verbs.includes(first);
}

/**
 * `skein [flags] ["task"]`. In a terminal it opens the screen and sends the task, if the screen has all of the flags.
 * Otherwise, and with -p, it is `run`.
 */
async function runWithoutCommand(argv: string[], ctx: CommandContext): Promise<number> {
  const [run, { tuiFlags }] = await Promise.all([loadCommand("run"), import("./commands/tui/tui-flags.ts")]);
  const screenOnly = tuiFlags.filter((flag) => run.flags.every(({ name }) => name !== flag.name));
  const surplusHint = (words: readonly string[]) => (isCommandName(words[0]) ? commandFirst(words.join(" ")) : surplusHintOf(run, words));
  const { positionals, flags } = await readArgs({ ...run, flags: [...run.flags, ...screenOnly], surplusHint }, argv, ctx);
  const [word] = positionals;
  // Only a habit: `git -C dir log`. As a task the word would be sent to a model.
  if (isCommandName(word) && flags["print"] === undefined && !argv.includes("--"))
    throw new Fault("usage", `"${word}" is a command`, { hint: `${commandFirst(word)}; to send it as a task: skein run ${word}` });
  const isOfScreen = (name: string) => tuiFlags.some((flag) => flag.name === name);
  if (isInteractive(ctx) && Object.keys(flags).every(isOfScreen)) {
    const tui = await loadCommand("tui");
    const [task] = positionals;
    return tui.run({ positionals: [], flags: { ...flags, ...(task === undefined ? {} : { task }) } }, ctx);
  }
  // A switch of the screen has no meaning for a run, which draws nothing and starts a new session anyway.
  const ofRun = Object.entries(flags).filter(([name]) => !screenOnly.some((flag) => flag.name === name && flag.value === undefined));
  return run.run({ positionals, flags: Object.fromEntries(ofRun) }, ctx);
}

function isCommandName(word: string | undefined): word is string {
  return word !== undefined && commandNames.includes(word);
}

function commandFirst(words: string): string {
  return `a command stands before its flags: skein ${words} ...`;
}

async function loadCommand(name: "run" | "tui"): Promise<Command> {
  return (await findCommand(name))!;
}

/** Parses the arguments. Flags of other programs become ours, and a missing model or agent is chosen from a list. */
async function readArgs(command: Command, argv: readonly string[], ctx: CommandContext): Promise<Args> {
  for (let words = argv; ;) {
    try {
      const args = parseArgs(command, words);
      if (args.flags["model"] !== true && args.flags["agent"] !== true) return args;
      return await (await import("./commands/run/choose-flags.ts")).chooseMissing(args, ctx);
    } catch (error) {
      if (!(error instanceof UnknownFlagFault)) throw error;
      const meant = (await import("./parse/other-flags.ts")).translateFlag(command, words, error.typed);
      if (meant === null) throw error;
      words = meant;
    }
  }
}

function asksForHelp(argv: string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? argv.length : end).some((word) => word === "--help" || word === "-h");
}

/** A call without arguments (`asUsage`) prints help to stderr and exits with 2. */
async function printHelp(words: string[], ctx: CommandContext, asUsage: boolean): Promise<number> {
  const { commandHelp, mainHelp } = await import("./parse/help.ts");
  const [name] = words;
  const command = name === undefined || name === "--all" ? null : await findCommand(name);
  if (name !== undefined && name !== "--all" && command === null) {
    const { translateWords } = await import("./parse/other-words.ts");
    const meant = translateWords(words);
    if (meant === null) throw (await import("./commands/unknown-command.ts")).unknownCommand(words);
    return printHelp(meant[0]!.startsWith("-") ? ["run"] : [meant[0]!], ctx, asUsage);
  }
  const text = command === null ? mainHelp(await groupedCommands(), ctx.version, { withHidden: name === "--all" }) : commandHelp(command);
  (asUsage ? ctx.err : ctx.out).write(text.endsWith("\n") ? text : `${text}\n`);
  return asUsage ? 2 : 0;
}
