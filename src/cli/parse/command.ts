// The shape of a command: a row of data and one function. Help, completions and parsing come from the row.
import type { Api } from "../../protocol/api/api.ts";
import type { EnclosingSession } from "../../protocol/api/policy.ts";
import type { RawTerminal, RawWatch } from "../terminal/raw-terminal.ts";

export type Flag = {
  /** Without dashes: `max-steps`. */
  name: string;
  short?: string;
  /** A flag without a value is a switch. */
  value?: string;
  /** Allowed values, also offered by completion. */
  choices?: readonly string[];
  repeat?: boolean;
  summary: string;
};

export type Command = {
  name: string;
  aliases?: string[];
  /** One line, for the list of commands. */
  summary: string;
  /** What follows the name: `"task" [flags]`. */
  usage: string;
  positionals: { min: number; max: number };
  /** What the first positional may be: checked by parsing, offered by completion. */
  verbs?: readonly string[];
  /** Verbs that the name of a team follows: offered by completion. */
  teamVerbs?: readonly string[];
  flags: readonly Flag[];
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

/** What a command sees of the world outside. */
export type CommandContext = {
  /** Builds the house on first use. Overrides are flags that the configuration must know. */
  api: (overrides?: AppOverrides) => Promise<Api>;
  cwd: string;
  /** What `~` stands for. */
  home: string;
  project: string;
  /** The project that a directory belongs to. */
  projectOf: (directory: string) => string;
  /** Where the hub is found. */
  state: string;
  /** How this program starts itself again. */
  selfCommand: readonly string[];
  env: Record<string, string | undefined>;
  version: string;
  /** The session that this process was started in, if any. */
  enclosingSession: () => EnclosingSession | null;
  /** Names of the agents' CLIs that skein supports, installed or not. */
  externalAgentNames: () => Promise<readonly string[]>;
  /** `text` gives up on a pipe that stays silent, unless it is told to wait because nothing else holds the task. */
  stdin: {
    isTty: boolean;
    text: (options: { wait: boolean }) => Promise<string>;
    /** One by one, as they come, without their ends. */
    lines: () => AsyncIterable<string>;
    /** The terminal key by key, until it is closed. */
    raw: (watch: RawWatch) => Promise<RawTerminal>;
  };
  /** While this runs, the terminal is another program's: its Ctrl+C is not ours. */
  lendTerminal: <T>(act: () => Promise<T>) => Promise<T>;
  /** Stops us and all of our job, until the shell lets us go on. */
  suspend: () => Promise<void>;
  out: TextOutput;
  err: TextOutput;
  /** Called with the first Ctrl-C or SIGTERM; the second one leaves at once. */
  onStop: (stop: (signal: "SIGINT" | "SIGTERM") => void) => void;
};

export type AppOverrides = {
  ephemeral?: boolean;
  trust?: boolean;
  /** A broken configuration does not matter: the command reports or mends it. */
  lenient?: boolean;
  /** Which executable environment variables and home the house is built with; the demo brings its own. */
  env?: Record<string, string | undefined>;
  cwd?: string;
};

export type TextOutput = {
  write: (text: string) => void;
  isTty: boolean;
  columns: number;
  /** Of a terminal. */
  rows?: number;
  color: boolean;
};
