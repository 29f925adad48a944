// The entry of the command line: finds the command, parses its arguments, prints help and faults. Returns the exit code.
import { nearestWord } from "../kit/text/nearest-word.ts";
import { Fault } from "../protocol/api/error.ts";
import { parseArgs } from "./parse/args.ts";
import { isInteractive, type CommandContext } from "./parse/command.ts";
import { allCommands, commandNames, findCommand } from "./commands/index.ts";
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
    return printHelp(otherArgs[0], ctx, first === undefined);
  if (first === "--version" || first === "-V") {
    ctx.out.write(`skein ${ctx.version}\n`);
    return 0;
  }
  const isFlag = first.startsWith("-");
  const args = isFlag ? argv : otherArgs;
  if (asksForHelp(args)) return printHelp(isFlag ? "run" : first, ctx, false);
  // `skein -p "task"`: flags first means `run`. `skein -m x` has no task.
  const name = !isFlag ? first : (await opensScreen(argv, ctx)) ? "tui" : "run";
  const command = await findCommand(name);
  if (command === null) throw unknownCommand(name);
  return command.run(parseArgs(command, args), ctx);
}

/** Whether a command line of flags has no task and only flags that the screen takes. Without a terminal it is always `run`. */
async function opensScreen(argv: string[], ctx: CommandContext): Promise<boolean> {
  if (!isInteractive(ctx)) return false;
  const [run, { tuiFlags }] = await Promise.all([findCommand("run"), import("./commands/tui/tui-flags.ts")]);
  if (run === null) return false;
  const screenOnly = tuiFlags.filter((flag) => run.flags.every(({ name }) => name !== flag.name));
  const { positionals, flags } = parseArgs({ ...run, flags: [...run.flags, ...screenOnly] }, argv);
  return positionals.length === 0 && Object.keys(flags).every((name) => tuiFlags.some((flag) => flag.name === name));
}

function asksForHelp(argv: string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? argv.length : end).some((word) => word === "--help" || word === "-h");
}

/** A call without arguments (`asUsage`) prints help to stderr and exits with 2. */
async function printHelp(name: string | undefined, ctx: CommandContext, asUsage: boolean): Promise<number> {
  const { commandHelp, mainHelp } = await import("./parse/help.ts");
  const command = name === undefined ? null : await findCommand(name);
  if (name !== undefined && command === null) throw unknownCommand(name);
  const text = command === null ? mainHelp(await allCommands(), ctx.version) : commandHelp(command);
  (asUsage ? ctx.err : ctx.out).write(text.endsWith("\n") ? text : `${text}\n`);
  return asUsage ? 2 : 0;
}

function unknownCommand(name: string): Fault {
  const nearest = nearestWord(name, commandNames);
  const hint = nearest === null ? "`skein --help` lists the commands" : `did you mean "skein ${nearest}"?`;
  return new Fault("usage", `no command "${name}"`, { hint });
}
