// The interface of an adapter: how a CLI is found, started, read and checked. An adapter is data and pure functions, one
// file per CLI. It starts no process, touches no file and does not use the tree; see process/ and turn/.
import type { WireName } from "../../../models/model.ts";
import type { Json } from "../../../kit/text/json.ts";
import type { TurnStatus } from "../../../protocol/api/error.ts";
import type { ImageData, Part } from "../../../protocol/tree/node.ts";
import type { TurnCheckInput } from "../../../protocol/api/ports.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import type { FailurePattern } from "./failure-patterns.ts";

export type Adapter = {
  name: string;
  /** The program to find in PATH. */
  program: string;
  /** A command that installs the CLI. */
  install: string;
  /** Default vendor of its models, with its name in models/vendors.ts. */
  vendor: string;
  /** Set for a CLI that also works with the other vendors of multi-vendor.ts. */
  isMultiVendor?: true;
  /** The user's own sign-in with the CLI; absent if the CLI has none. */
  signIn?: SignIn;
  /** Set for a configured agent: the gateway reaches every vendor that has a key, and none is required. */
  usesAnyVendor?: true;
  /** Variables that may hold its key, in order of preference. */
  keys: readonly string[];
  /** Supported efforts; empty if the CLI has no option for them. */
  efforts: readonly string[];
  /** True if the CLI has a flag or a file for a role. Otherwise skein puts the role before the prompt. */
  takesRole: boolean;
  /** Set for a CLI that can use MCP servers. */
  takesServers?: true;
  /** Matches the output of `--version`. Its first group is the version. */
  version: RegExp;
  /** Files to write into its configuration directory, by relative path. */
  files: (launch: CliLaunch) => Record<string, string>;
  /** Variables to add to the allow-listed environment. Only these may hold a credential. */
  env: (launch: CliLaunch) => Record<string, string>;
  args: (launch: CliLaunch) => string[];
  /** Flags that `--agent-arg` may not set, separated by spaces: they would weaken the sandbox or break the adapter. */
  forbiddenArgs?: string;
  /** Throws a fault for options that the CLI does not support. */
  check?: (turn: TurnCheckInput) => void;
  /** For a CLI with a dialogue on stdin and stdout. Replaces `reader` and `stdin`. */
  openDialogue?: (launch: CliLaunch, out: DialogueOutput) => CliDialogue;
  /** For a CLI without a last event: exit code 0 after an answer counts as success. */
  endsByExit?: boolean;
  /** The prompt, for a CLI that reads it from stdin: every user of the machine can read arguments. Null leaves stdin empty. */
  stdin?: (launch: CliLaunch) => string | null;
  /** `start` tells the reader whether the output may repeat earlier turns. */
  reader: (start?: CliLaunch["start"]) => CliReader;
  /** The tool with which the model asks the user. A headless CLI gets no answer, so the turn ends and the answer is the next prompt. */
  questionTool?: string;
  /** Classifies messages that only this CLI prints. They are tried before those of failure-patterns.ts. */
  failures: readonly FailurePattern[];
  /** Set for a CLI whose own session does not have a prompt if the vendor refused its first request. */
  forgetsRefusedPrompt?: true;
  /** Matches the message that the CLI's own session is missing. skein then starts a new one with a brief. */
  sessionLost: RegExp;
  /** For a CLI that prints no model: the glob of its session's file below the configuration directory, and the model in it. */
  modelRecord?: { glob: (sessionId: string) => string; model: RegExp };
  /** For a CLI that can't resume from its own transcript: the file's glob below the configuration directory, and the correction. */
  transcriptRepair?: { glob: (sessionId: string) => string; repair: (text: string) => string };
};

/** Describes the files of a user's sign-in with a CLI, and how a turn may use them. */
export type SignIn = {
  /** The command with which the user signs in. */
  command: string;
  /** A variable that is a sign-in by itself. */
  variable?: string;
  /** The CLI's credential file, for the user's own environment. */
  file: (env: Record<string, string | undefined>, home: string) => string;
  /** Reads the sign-in for a vendor from the parsed file; null if there is none. */
  read: (stored: Json, vendor: string, now: number) => StoredSignIn | null;
  /** Path of the file below the configuration directory, for a CLI that uses the user's file itself. */
  linkedAs?: string;
  /** The only hosts that a CLI with this sign-in may reach while the network is off. */
  hosts: readonly string[];
};

export type StoredSignIn =
  /** A plain key. It stays in skein, and the CLI goes through the gateway. */
  | { how: "key"; key: string }
  /** A token that the CLI gets as a variable. The CLI can't renew it. */
  | { how: "token"; variable: string; value: string; note: string }
  /** The file itself. Only one CLI at a time may use an exclusive file. */
  | { how: "file"; isExclusive: boolean; note: string }
  /** `hint` is a remedy besides setting a key; null if there is none. */
  | { how: "unusable"; why: string; hint: string | null };

export type CliLaunch = {
  prompt: string;
  /** The vendor's name of the model; null for the CLI's default. */
  model: string | null;
  /** Vendor of `model`. */
  vendor?: string;
  effort: string | null;
  /** Text of the role, for an adapter with `takesRole`. */
  role: string | null;
  /** The working directory; absolute. */
  directory: string;
  addDirs: readonly string[];
  /** The CLI's own configuration directory, in skein's data directory; absolute. */
  configDir: string;
  /** `id` is the CLI's own session. A CLI that chooses its ids itself ignores the id of a new session. */
  start: { how: "new"; id: string } | { how: "resume"; id: string } | { how: "fork"; id: string; forkId: string };
  /** Scheme, host and port of the gateway, and its token; null if the CLI uses its own sign-in. */
  endpoint: { url: string; token: string; wires?: readonly WireName[] } | null;
  /** True if our sandbox confines the CLI. Its own sandbox and its permission requests are then off. */
  isSandboxed: boolean;
  isRoot: boolean;
  /** True if the network is off. The vendor's own search would be refused then. */
  isOffline: boolean;
  servers: CliServers;
  extraArgs: readonly string[];
  /** The span of the turn. The CLI also has it as a variable. */
  traceparent?: string;
};

/** MCP servers for a CLI, and the values of their variables and headers: variables of the CLI, by name. */
export type CliServers = { list: readonly CliServer[]; values: Readonly<Record<string, string>> };

/** `env` and `headers` name the variables of the CLI that have their values. */
export type CliServer =
  | { kind: "stdio"; name: string; command: string; args: readonly string[]; env: Readonly<Record<string, string>> }
  | { kind: "http"; name: string; url: string; headers: Readonly<Record<string, string>> };

/** Reads stdout line by line, with state between the lines. Must not throw. */
export type CliReader = {
  /** Set if `line` is also called for blank lines, which then belong to the answer. */
  readsBlankLines?: true;
  line: (text: string) => CliEvent[];
  /** Called after 100 ms without output. Returns events that waited for later lines. */
  quiet?: () => CliEvent[];
  /** Called at the end of stdout. Returns the remaining events. */
  end: () => CliEvent[];
};

/** A reader that also writes to the CLI's stdin. */
export type CliDialogue = CliReader & {
  /** Asks the CLI to stop its turn. */
  cancel: () => void;
};

export type DialogueOutput = {
  write: (text: string) => void;
  /** Closes stdin. The CLI then has 1 s to exit. */
  end: () => void;
};

export type CliEvent =
  /** The CLI's own session, and the model that it reports. */
  | { type: "session"; id: string; model?: string; version?: string }
  | { type: "text.delta"; text: string }
  | { type: "thinking.delta"; text: string }
  /** One message of the model: text, thinking, calls. `usage` is that of its request, if the CLI reports it. */
  | { type: "answer"; parts: Part[]; usage?: Usage; model?: string }
  | { type: "result"; call: string; name: string; text: string; isError: boolean; images?: ImageData[] }
  /** An event of a sub-agent that `call` started. It is shown separately and is not part of the answer. */
  | { type: "sub-agent"; call: string; event: CliEvent }
  /** Total usage of the turn. With `isThreadTotal` it includes earlier turns of the CLI's own session. */
  | { type: "usage"; usage: Usage; isThreadTotal?: true; costUsd?: number }
  | { type: "retry"; message: string }
  /** The CLI reported a used-up limit, and when it ends. */
  | { type: "limit"; resetAt: number }
  /** `kind` is null or missing for an unknown failure. */
  | { type: "failed"; message: string; kind?: TurnStatus | null }
  /** The CLI reports a successful end of the turn. `answer` is set if it repeats the whole answer. */
  | { type: "done"; answer?: string }
  /** A line that is not an event of the CLI. */
  | { type: "garbage" };
