// The flags of `run` as a table. The function `turn` of a flag returns its change of the turn.
import { toolLevels, type ToolLevel } from "../../../protocol/api/policy.ts";
import type { TurnChange } from "../../../protocol/api/turn-options.ts";
import type { Args, Flag, FlagGroup } from "../../parse/command.ts";
import { outputFormats } from "../../print/printer.ts";
import { flagReader, type FlagDirectories, type FlagValue } from "./flag-value.ts";
import { fleetFlags } from "../fleet/send-run.ts";
import { codexModes, policyFlags } from "./policy-flags.ts";
import { readImage } from "./read-image.ts";
import { worktreeFlags } from "./worktree-flags.ts";

/** Without `turn` the flag is not an option of the turn, or run.ts combines it with others. */
type RunFlag = Flag & { turn?: (value: FlagValue) => TurnChange };

const approvalHint = "skein asks for no permission; -a is the agent, as in -a codex, and --policy says what tools may do";
const planHint = "--policy plan lets the agent write only a plan";

export const runFlags: readonly RunFlag[] = [
  { name: "model", short: "m", value: "model", isValueOptional: true, summary: "the model to use: vendor/id[:effort], or an alias" },
  {
    name: "agent",
    short: "a",
    value: "agent",
    isValueOptional: true,
    // Values of Codex's -a.
    hints: Object.fromEntries(["never", "on-request", "on-failure", "untrusted"].map((word) => [word, approvalHint])),
    summary: "the agent that takes the turn (default native)",
  },
  { name: "provider", value: "name", summary: "a vendor or an agent, by its name" },
  {
    name: "agent-arg",
    value: "flag",
    repeat: true,
    summary: "pass this to an external agent's command line",
    turn: ({ list }) => ({ agentArgs: [...list] }),
  },
  { name: "role", value: "role", summary: "the role of the agent; `skein roles` lists them" },
  { name: "session", value: "name|id", summary: "continue this session; a new name starts one" },
  { name: "continue", short: "c", summary: "continue the project's latest session" },
  {
    name: "resume",
    short: "r",
    value: "session",
    isValueOptional: true,
    summary: "continue this session; without a task, its interrupted turn; without a session, the project's latest interrupted turn",
  },
  { name: "fork", summary: "continue in a new session at the same node; the old one keeps its tip" },
  { name: "at", value: "node", summary: "continue at this node, in a new session" },
  ...worktreeFlags,
  { name: "session-id", value: "uuid", summary: "the id of the new session" },
  { name: "parent-session", value: "id", summary: "link the new session to this one" },
  { name: "fresh", summary: "leave the earlier conversation out of the request", turn: () => ({ fresh: true }) },
  {
    name: "system",
    short: "s",
    value: "text",
    hints: { "": "the sandbox is always on; -s replaces the system prompt", ...codexModes },
    summary: "replace the system prompt",
    turn: ({ text }) => ({ system: text }),
  },
  { name: "append-system", value: "text", summary: "add to the system prompt", turn: ({ text }) => ({ appendSystem: text }) },
  { name: "no-context-files", summary: "do not read AGENTS.md or CLAUDE.md", turn: () => ({ contextFiles: false }) },
  {
    name: "image",
    value: "file",
    repeat: true,
    summary: "show an image to the model",
    turn: (flag) => ({ images: flag.paths().map((path) => readImage(path, "--image: ")) }),
  },
  {
    name: "tool-level",
    value: "level",
    choices: toolLevels,
    synonyms: { full: "orchestrator", read: "readonly", research: "readonly", researcher: "readonly" },
    hints: { plan: planHint, planner: planHint },
    summary: "which tools the agent has (default orchestrator)",
    turn: ({ text }) => ({ toolLevel: text as ToolLevel }),
  },
  {
    name: "tools",
    value: "a,b",
    hints: { "": "--tool-level none means no tools" },
    summary: "exactly these tools",
    turn: (flag) => ({ tools: flag.names("--tool-level none means no tools") }),
  },
  { name: "no-spawn", summary: "start no sub-sessions", turn: () => ({ spawn: false }) },
  { name: "allow-nesting", summary: "tools may start skein again", turn: () => ({ nesting: true }) },
  ...policyFlags,
  { name: "plan", value: "file", summary: "execute this plan in a new session, linked to the one that planned it" },
  {
    name: "max-steps",
    value: "n",
    summary: "model requests of the turn and its sub-sessions",
    turn: (flag) => ({ limits: { maxSteps: flag.count(), treeSteps: flag.count() } }),
  },
  {
    name: "max-tokens",
    value: "n",
    summary: "input, output and cache-write tokens of the turn and its sub-sessions",
    turn: (flag) => ({ limits: { maxTokens: flag.count() } }),
  },
  {
    name: "max-budget-usd",
    value: "amount",
    summary: "money for the turn and its sub-sessions",
    turn: (flag) => ({ limits: { maxBudgetUsd: flag.amount() } }),
  },
  {
    name: "max-children",
    value: "n",
    summary: "number of sub-sessions of the turn",
    turn: (flag) => ({ limits: { maxChildren: flag.count() } }),
  },
  {
    name: "timeout",
    value: "duration",
    summary: "time for the turn: 90, 90s, 10m, 2h",
    turn: (flag) => ({ timeoutMs: flag.duration() }),
  },
  {
    name: "at-limit",
    value: "stop|wait|agents",
    summary: "at a vendor's limit: stop (default), wait for its end in the hub, or let these agents continue: codex,claude:opus",
    turn: (flag) => ({ atLimit: flag.atLimit() }),
  },
  {
    name: "wait-at-most",
    value: "duration",
    summary: "the longest wait of --at-limit wait: 30m, 2h",
    turn: (flag) => ({ waitAtMostMs: flag.duration() }),
  },
  {
    name: "check",
    value: "command",
    summary: "a command that must succeed after the turn; if it fails, the agent gets its output once",
    turn: (flag) => ({ check: flag.nonEmpty() }),
  },
  { name: "no-check", summary: "run no check, whatever the config says", turn: () => ({ check: null }) },
  {
    name: "check-timeout",
    value: "duration",
    summary: "time for a check (default 10m)",
    turn: (flag) => ({ checkTimeoutMs: flag.duration() }),
  },
  { name: "output-format", value: "format", choices: outputFormats, summary: "format of stdout (default text)" },
  { name: "json", summary: "the same as --output-format json" },
  { name: "stream", summary: "print the answer as it arrives (the default)" },
  { name: "no-stream", summary: "print the answer only when it is complete" },
  {
    name: "json-schema",
    value: "file",
    summary: "the final answer must be JSON that satisfies this schema",
    turn: (flag) => ({ answerSchema: flag.jsonObject() }),
  },
  {
    name: "output-file",
    value: "file",
    summary: "write a copy of the finished transcript here",
    turn: (flag) => ({ outputFile: flag.writableFile() }),
  },
  { name: "transcript-dir", value: "directory", summary: "write the transcript here" },
  { name: "ephemeral", summary: "store nothing on disk" },
  ...fleetFlags,
  { name: "detach", summary: "run the turn in the hub, which is started if need be" },
  { name: "queue", summary: "run the task in the hub, after the turns that the session has already; prints its place at once" },
  {
    name: "no-auto-resume",
    summary: "with --detach or --queue: do not continue the turn after a crash of the hub",
    turn: () => ({ autoResume: false }),
  },
  { name: "cd", short: "C", value: "directory", summary: "work in this directory" },
  { name: "trust", summary: "for this run, trust the project's config and roles" },
  { name: "no-trust", summary: "for this run, do not trust them, even if the project is trusted" },
  { name: "task", short: "t", value: "text", summary: "the task, as a flag" },
  { name: "quiet", short: "q", summary: "print only the answer and errors" },
  { name: "print", short: "p", summary: 'run the task here instead of on the screen: skein -p "task"' },
];

const words = (text: string): readonly string[] => text.split(" ");

/** The groups of the help, for `run` and for every command with some of these flags. */
export const runFlagGroups: readonly FlagGroup[] = [
  { title: "who answers", names: words("model agent provider role agent-arg system append-system no-context-files") },
  {
    title: "which session",
    names: words("new continue resume session fork at worktree with-changes with-ignored fresh session-id parent-session ephemeral"),
  },
  {
    title: "what it may do",
    names: words("policy sandbox net allow-write add-dir tool-level tools no-spawn allow-nesting plan trust no-trust"),
  },
  { title: "limits", names: words("max-steps max-tokens max-budget-usd max-children timeout at-limit wait-at-most") },
  { title: "when it is done", names: words("until max-runs check no-check check-timeout") },
  {
    title: "input and output",
    names: words("task image cd output-format json json-schema quiet stream no-stream output-file transcript-dir"),
  },
  { title: "how it runs", names: words("print fleet needs priority detach queue no-auto-resume inline screen-reader hub") },
];

/** A flag of `chat` and `tui`. */
export const screenReaderFlag: Flag = {
  name: "screen-reader",
  summary: "for screen readers: each line starts with its kind, nothing is drawn (also: config key screen_reader, variable ACCESSIBLE)",
};

/** Everything that the flags change in a turn. Throws a usage fault for a wrong value. */
export function turnChangeOf(args: Args, directories: FlagDirectories): TurnChange {
  const { read } = flagReader(args, directories);
  return runFlags.reduce<TurnChange>((change, { name, turn }) => {
    const next = turn === undefined ? null : read(name, turn);
    if (next === null) return change;
    return { ...change, ...next, limits: { ...change.limits, ...next.limits } };
  }, {});
}
