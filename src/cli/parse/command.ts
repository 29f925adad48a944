// The types of a command: a table entry and one function. Help, completions and parsing read the entry.
import type { OutputStream } from "../../kit/process/output-reader.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { CallerTrust } from "../../protocol/api/control.ts";
import type { FleetCommands, WorkerRole } from "../../protocol/fleet/fleet-commands.ts";
import type { EnclosingSession } from "../../protocol/api/policy.ts";
import type { LiveRegion } from "../terminal/live-region.ts";
import type { RawTerminal, RawTerminalCallbacks } from "../terminal/raw-terminal.ts";

export type Flag = {
  /** Without dashes: `max-steps`. */
  name: string;
  short?: string;
  /** A flag without a value is a switch. */
  value?: string;
  /** The flag may also stand without its value; its flag is then true. */
  isValueOptional?: boolean;
  /** The next word is an optional value only if it matches. Else it is an argument, such as a task. */
  valuePattern?: RegExp;
  /** Allowed values, also offered by completion. */
  choices?: readonly string[];
  /** The command itself checks values that are no choice. */
  takesOthers?: boolean;
  /** Other words for a choice. */
  synonyms?: Readonly<Record<string, string>>;
  /** Hints for words that are no choice. A word with a hint is refused. The empty word is a missing value. */
  hints?: Readonly<Record<string, string>>;
  repeat?: boolean;
  summary: string;
};

export type FlagGroup = { title: string; names: readonly string[] };

export type Command = {
  name: string;
  aliases?: string[];
  /** One line, for the list of commands. */
  summary: string;
  /** The arguments after the name: `"task" [flags]`. */
  usage: string;
  positionals: { min: number; max: number };
  /** Names the command that lists values of the arguments, for a refusal. Default: by the argument's name in `usage`. */
  listing?: string;
  /** The hint for more arguments than the command takes. Default: the usage. A function gets all arguments. */
  surplusHint?: string | ((positionals: readonly string[]) => string);
  /** Allowed values of the first positional, also offered by completion. */
  verbs?: readonly string[];
  /** Verbs with the name of a team as argument, for completion. */
  teamVerbs?: readonly string[];
  flags: readonly Flag[];
  /** The flags of the help by title; names that the command does not have are ignored. Default: one group. */
  flagGroups?: readonly FlagGroup[];
  /** Paragraphs and examples below the flags. */
  notes?: string;
  /** Returns the exit code. */
  run: (args: Args, ctx: CommandContext) => Promise<number>;
};

export type Args = {
  positionals: string[];
  /** Switches are true; repeatable flags are arrays. */
  flags: Record<string, string | true | string[] | undefined>;
};

/** Everything outside of the process that a command uses. */
export type CommandContext = {
  /** Creates the app on first use. Overrides are flags that affect the configuration. */
  api: (overrides?: AppOverrides) => Promise<Api>;
  /** Operations on the fleet. With a role this process is a worker. */
  fleet: (role?: WorkerRole) => Promise<FleetCommands>;
  cwd: string;
  /** The directory of `~`. */
  home: string;
  project: string;
  /** The project that a directory belongs to. */
  projectOf: (directory: string) => string;
  /** The directory with the files of the hub, unsent messages and crash reports. */
  state: string;
  /** The command line that starts this program again. */
  selfCommand: readonly string[];
  env: Record<string, string | undefined>;
  version: string;
  /** The session that this process was started in, if any. */
  enclosingSession: () => EnclosingSession | null;
  /** Names of the agents' CLIs that skein supports, installed or not. */
  externalAgentNames: () => Promise<readonly string[]>;
  /** `text` stops waiting for a pipe without data, unless `wait` is true because the task must come from it. */
  stdin: {
    isTty: boolean;
    text: (options: { wait: boolean }) => Promise<string>;
    /** Yields each line when it arrives, without its line end. */
    lines: () => AsyncIterable<string>;
    /** Reads the terminal key by key until it is closed. */
    raw: (callbacks: RawTerminalCallbacks) => Promise<RawTerminal>;
  };
  /** Lends the terminal to another program while `act` runs. Ctrl+C then belongs to that program. */
  lendTerminal: <T>(act: () => Promise<T>) => Promise<T>;
  /** Stops this process and its job, until the shell continues it. */
  suspend: () => Promise<void>;
  out: TextOutput;
  err: TextOutput;
  /** Writes bytes unchanged. Resolves when the reader has room for more; rejects with EPIPE if the reader is gone. */
  writeBytes: (stream: OutputStream, bytes: Uint8Array) => Promise<void>;
  /** Sets the callback for the first Ctrl-C or SIGTERM. The second one ends the process at once. */
  onStop: (stop: (signal: "SIGINT" | "SIGTERM") => void) => void;
};

export type AppOverrides = {
  ephemeral?: boolean;
  trust?: CallerTrust;
  /** Accepts a broken configuration, because the command reports or repairs it. */
  lenient?: boolean;
  /** The environment to create the app with; the demo has its own. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** The next hub continues the turns of this app. */
  continuesTurns?: boolean;
  /** Uses only the shared store of the fleet, or only that of this machine. Default: both, where a fleet is configured. */
  store?: "fleet" | "local";
};

export type TextOutput = {
  write: (text: string) => void;
  isTty: boolean;
  columns: number;
  /** Undefined if it is not a terminal. */
  rows?: number;
  color: boolean;
  /** Rows below the output. Only for a terminal that can move its cursor. */
  live?: LiveRegion;
};

/** True if a user can type and see a line: input and output are a terminal that can move the cursor. */
export function isInteractive({ stdin, out, env }: Pick<CommandContext, "stdin" | "out" | "env">): boolean {
  return stdin.isTty && out.isTty && env["TERM"] !== "dumb";
}
