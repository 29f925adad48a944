// What skein knows of one agent's command line: how it is found, started, read and judged. Data and pure functions,
// one file per agent; processes, files and the tree are none of its business (run-cli.ts).
import type { WireName } from "../../../models/model.ts";
import type { Json } from "../../../models/wire/json.ts";
import type { TurnStatus } from "../../../protocol/api/error.ts";
import type { CallPart, ImageData, Part } from "../../../protocol/tree/node.ts";
import type { TurnCheckInput } from "../../../protocol/api/ports.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import type { CliQuestion } from "./questions.ts";

export type Adapter = {
  name: string;
  /** The program looked for in PATH. */
  program: string;
  /** A command that installs it. */
  install: string;
  /** Whose models it asks, in the words of models/providers.ts, and over which wire. */
  vendor: string;
  wire: WireName;
  /** Of one that asks any vendor: whose a model is. Without it, and without a model, `vendor` and `wire` hold. */
  vendorOf?: (model: string) => Pick<Adapter, "vendor" | "wire">;
  /** The person's own sign-in with it; absent where there is no such thing. */
  signIn?: SignIn;
  /** Of one that nothing is known of: the gateway leads to every vendor that has a key, and it needs none of them. */
  asksAny?: true;
  /** Variables that hold its credential, the best first. */
  keys: readonly string[];
  /** Who chooses the id of its own session. */
  ids: "ours" | "theirs";
  canFork: boolean;
  /** False for one that keeps no sessions of its own. */
  resumes?: boolean;
  /** Whether its sessions can be resumed from another directory. */
  resumesAnywhere: boolean;
  /** The efforts that it can be told; empty when it can't. */
  efforts: readonly string[];
  /** Whether a role reaches it by a flag or file; otherwise the prompt begins with it. */
  takesRole: boolean;
  /** From what `--version` prints. */
  versionOf: (output: string) => string | null;
  /** Files that its own configuration directory must hold, by relative path. */
  files: (launch: CliLaunch) => Record<string, string>;
  /** Added to the allow-listed environment; the only place where a credential may stand. */
  env: (launch: CliLaunch) => Record<string, string>;
  args: (launch: CliLaunch) => string[];
  /** Flags of `--agent-arg` that would loosen the walls or change what the adapter relies on. */
  forbiddenArgs: readonly string[];
  /** Throws a fault for what it can't be told. */
  check?: (turn: TurnCheckInput) => void;
  /** Of one that is talked to while it runs: it takes the place of the reader, and of anything on stdin. */
  openDialogue?: (launch: CliLaunch, out: DialogueOutput) => CliDialogue;
  /** For one that has no last event: an exit with 0 after an answer is a good end. */
  endsByExit?: boolean;
  /** What stands on its stdin when the prompt is too long to be an argument (one may have 128 KB on Linux); else null. */
  stdin?: (launch: CliLaunch) => string | null;
  /** `start` tells a reader whether earlier turns may be repeated. */
  reader: (start?: CliLaunch["start"]) => CliReader;
  /** What it asks a person with a call, headless and in vain: the turn ends with that, and the answer is the next prompt. */
  questionsIn?: (call: CallPart) => CliQuestion[];
  /** What a message of its own (an error event, the end of stderr) means; null when it says nothing we know. */
  failureOf: (message: string) => TurnStatus | null;
  /** Whether the message says that the session to be resumed or forked is not there: begin anew with a brief. */
  isSessionLost?: (message: string) => boolean;
  /** Where its own transcript of a session lies: a glob below its configuration directory. */
  transcript: (nativeId: string, directory: string) => string;
  /** Of one that can't go on from its own transcript as it wrote it: what it must be. */
  repairTranscript?: (text: string) => string;
};

/** How a CLI keeps the sign-in of a person, and what of it may be used for a child. */
export type SignIn = {
  /** What a person types to sign in. */
  command: string;
  /** A variable that is a sign-in by itself. */
  variable?: string;
  /** Where the CLI keeps it, with the person's own environment. */
  file: (env: Record<string, string | undefined>, home: string) => string;
  /** What the file holds for a vendor; null when that is nothing. */
  read: (stored: Json, vendor: string, now: number) => StoredSignIn | null;
  /** Where the file is looked for below the configuration directory, when the child uses it itself. */
  place?: string;
  /** All that a child with this sign-in may reach while the network is off. */
  hosts: readonly string[];
};

export type StoredSignIn =
  /** A plain key: it stays with us, and the child goes through the gateway. */
  | { how: "key"; key: string }
  /** Given to the child by a variable; it can't be renewed there. */
  | { how: "token"; variable: string; value: string; note: string }
  /** The file itself, where it lies. An exclusive one is used by one child at a time. */
  | { how: "file"; isExclusive: boolean; note: string }
  /** `hint` is what would help besides a key; null when that is all. */
  | { how: "unusable"; why: string; hint: string | null };

export type CliLaunch = {
  prompt: string;
  /** As its vendor spells it; null is the CLI's own default. */
  model: string | null;
  /** Whose the model is. */
  vendor?: string;
  effort: string | null;
  /** Text of the role, for an adapter that takes one. */
  role: string | null;
  /** Absolute, and where it is started. */
  directory: string;
  addDirs: readonly string[];
  /** Absolute; its own, below skein's data. */
  configDir: string;
  /** `id` is the native session; a new one is ours to choose only where `ids` is "ours". */
  start: { how: "new"; id: string } | { how: "resume"; id: string } | { how: "fork"; id: string; forkId: string };
  /** Where its requests go (scheme, host and port) and the token it sends; null uses its own sign-in. */
  endpoint: { url: string; token: string; wires?: readonly WireName[] } | null;
  /** Whether our walls stand around it, so that its own sandbox is off and nothing is asked. */
  isSandboxed: boolean;
  isRoot: boolean;
  extraArgs: readonly string[];
};

/** Reads stdout line by line; keeps what it must remember between lines. Never throws. */
export type CliReader = {
  /** Lines without a word in them are passed over unless they belong to the answer. */
  wantsBlank?: true;
  line: (text: string) => CliEvent[];
  /** Called when nothing has come for a moment (a tenth of a second): what was held back to see what belongs to it. */
  quiet?: () => CliEvent[];
  /** What the end of stdout still gives. */
  end: () => CliEvent[];
};

/** One that also speaks. */
export type CliDialogue = CliReader & {
  /** Asks it to stop by itself. */
  cancel: () => void;
};

export type DialogueOutput = {
  write: (text: string) => void;
  /** There is nothing more to say: it has a moment to leave. */
  end: () => void;
};

export type CliEvent =
  /** Its own session, as soon as it is known; `model` is the one it says it asks. */
  | { type: "session"; id: string; model?: string; version?: string }
  | { type: "text.delta"; text: string }
  | { type: "thinking.delta"; text: string }
  /** One message of the model: text, thinking, calls. `usage` is that request's own, where the CLI tells it. */
  | { type: "answer"; parts: Part[]; usage?: Usage; model?: string }
  | { type: "result"; call: string; name: string; text: string; isError: boolean; images?: ImageData[] }
  /** Of a sub-agent that the call started: shown as a block of its own, never as part of the answer. */
  | { type: "below"; call: string; event: CliEvent }
  /** What the turn has used in all; `isThreadTotal` when it counts earlier turns of the native session too. */
  | { type: "usage"; usage: Usage; isThreadTotal: boolean; costUsd?: number; raw: unknown }
  | { type: "retry"; message: string }
  | { type: "failed"; message: string; kind?: TurnStatus }
  /** The CLI says that the turn is over. `answer` where it repeats it whole. */
  | { type: "done"; isError: boolean; answer?: string; message?: string }
  /** A line that is none of its events. */
  | { type: "garbage"; text: string };
