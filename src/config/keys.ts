// Every configuration key, once. Parsing, `ConfigValues`, `Settings`, `skein config`, the JSON schema and
// docs/CONFIG.md come from this table. It holds data only; load.ts reads files and variables.
import { fleetKeys } from "./tables/fleet-keys.ts";
import { hookKeys } from "./tables/hook-keys.ts";
import { groupKeys } from "./tables/group-keys.ts";
import { planKeys } from "./tables/plan-keys.ts";
import { serverKeys } from "./tables/server-keys.ts";
import { notifyModes } from "../protocol/api/settings.ts";
import { policyNames, sandboxModes, toolLevels } from "../protocol/api/policy.ts";

export type KeyType =
  | "string"
  | "integer"
  | "count"
  | "number"
  | "amount"
  | "boolean"
  | "duration"
  | "url"
  | "choice"
  | "at-limit"
  | "string-map"
  | "key-map"
  | "string-list"
  | "path-list"
  | "host-list"
  | "hook"
  | "variable-list";

export type KeyEntry = {
  /** Dotted; a `*` stands for any name. */
  key: string;
  /** The name of the key in `ConfigValues`, if it is not the key in camel case. */
  field?: string;
  type: KeyType;
  choices?: readonly string[];
  /** If there is no default, the description says what applies. */
  default?: unknown;
  /** The value that is used if the key is not set. Not shown as its default. */
  fallback?: unknown;
  /** The right of an untrusted project: "yes" to set the key, "narrow" to narrow it. Without it, only a trusted project may set the key; "never": not even that. */
  project?: "yes" | "narrow" | "never";
  /** For `narrow`: the choices from the narrowest to the widest, if `choices` has another order. */
  order?: readonly string[];
  /** For a `narrow` limit that is not set: the limit of headless runs, in the unit of the value. */
  ceiling?: number;
  /** Shown as set or not set, never as its value. A value `$NAME` is read from that variable. */
  secret?: true;
  /** For a secret map: `${NAME}` is also replaced inside of a text. */
  hasVariablesInside?: true;
  /** True leaves the key out of `Settings`, because front ends do not need it. */
  isInternal?: true;
  description: string;
};

/** An entry of the table with derived fields. `default` is null if the entry has none; `env` is the variable that sets the key. */
export type ConfigKey = KeyEntry & { default: unknown; env?: string };

const hour = 3_600_000;
const minute = 60_000;

const keyTable = [
  {
    key: "model",
    type: "string",
    project: "yes",
    description:
      "Model as `vendor/id[:effort]`, or an alias such as `sonnet` (`skein models` lists them). Without it, the first vendor with a key decides.",
  },
  {
    key: "agent",
    type: "string",
    default: "auto",
    project: "yes",
    description:
      "Agent that takes a turn when none is named. `auto` is native if there is a key for the model; else a signed-in CLI (claude, codex, gemini, opencode, pi, in this order); else native with Ollama.",
  },
  ...planKeys,
  {
    key: "tool_level",
    type: "choice",
    choices: toolLevels,
    default: "orchestrator",
    project: "narrow",
    order: ["none", "readonly", "minimal", "orchestrator"],
    description: "Which tools the native agent has.",
  },
  {
    key: "policy",
    type: "choice",
    choices: policyNames,
    default: "workspace",
    project: "narrow",
    order: ["readonly", "plan", "workspace", "full"],
    description: "What a turn may read and write.",
  },
  {
    key: "sandbox",
    type: "choice",
    choices: sandboxModes,
    project: "narrow",
    description:
      "Whether a turn requires a kernel sandbox. Without it, `required` in `plan` and `readonly`, else `auto`; `off` only with policy `full`.",
  },
  {
    key: "net",
    type: "choice",
    choices: ["off", "on"],
    default: "off",
    project: "narrow",
    description: "Whether tools may use the network.",
  },
  {
    key: "check",
    type: "string",
    description:
      "Shell command that must succeed after each turn, such as `npm test`. It runs in the turn's sandbox. If it fails, its output goes back to the agent once; then the turn ends as `check-failed`.",
  },
  { key: "check_timeout", field: "checkTimeoutMs", type: "duration", default: 10 * minute, description: "Longest duration of a check." },
  {
    key: "net_hosts",
    type: "host-list",
    default: [],
    project: "narrow",
    description:
      "Hosts that tools may reach while `net` is `off`: `example.com` (ports 443 and 80), `example.com:8080` or `*.example.com` (docs/SANDBOX.md). A project may only leave out some of yours.",
  },
  {
    key: "unix_sockets",
    isInternal: true,
    type: "boolean",
    default: false,
    project: "narrow",
    description:
      "Whether tools may use unix sockets (tmux, a local Postgres, an agent's socket). The kernel can't distinguish a socket of their own from one that leads out of the sandbox.",
  },
  {
    key: "allow_write",
    type: "path-list",
    default: [],
    description:
      "Paths outside the project that tools may write. Relative paths start at the project, or at the home directory in the user's file.",
  },
  {
    key: "tool_env",
    isInternal: true,
    type: "variable-list",
    default: [],
    description:
      "Names of environment variables that tools may see besides the default ones; a skill may need some. Keys of model vendors are refused.",
  },
  {
    key: "max_steps",
    type: "integer",
    project: "narrow",
    ceiling: 200,
    description: "Model requests in one turn. Without it, 200 in headless runs and no limit with a user at the terminal.",
  },
  {
    key: "max_tokens",
    type: "integer",
    project: "narrow",
    description: "Input, output and cache-write tokens of a turn and its sub-sessions.",
  },
  {
    key: "max_budget_usd",
    type: "number",
    project: "narrow",
    description: "Dollars that a turn and its sub-sessions may cost.",
  },
  {
    key: "max_children",
    type: "integer",
    project: "narrow",
    ceiling: 200,
    description: "Sub-sessions of a turn. Without it, 200 in headless runs and no limit with a user at the terminal.",
  },
  {
    key: "timeout",
    field: "timeoutMs",
    type: "duration",
    project: "narrow",
    ceiling: 4 * hour,
    description: "How long a turn may take. Without it, 4 h in headless runs and no limit with a user at the terminal.",
  },
  {
    key: "idle_timeout",
    field: "idleMs",
    type: "duration",
    project: "narrow",
    ceiling: 10 * minute,
    description: "How long a turn may be without any output. Without it, 10 min in headless runs and no limit with a user at the terminal.",
  },
  {
    key: "at_limit",
    type: "at-limit",
    default: "stop",
    description:
      "What a turn does at a vendor's limit (docs/LIMITS.md): `stop` ends it; `wait` keeps it in the hub until the limit ends; a list such as `codex,claude:opus` lets the next agent that is ready continue it.",
  },
  {
    key: "wait_at_most",
    field: "waitAtMostMs",
    type: "duration",
    description: "How long a turn waits for the end of a vendor's limit, with `at_limit` `wait`. Without it, no limit.",
  },
  {
    key: "ask_timeout",
    field: "askTimeoutMs",
    type: "duration",
    project: "narrow",
    fallback: 30 * minute,
    ceiling: 30 * minute,
    description: "How long a turn in the background (in the hub, or detached) waits for the answer to a question. Without it, 30 min.",
  },
  {
    key: "purge_after",
    field: "purgeAfterMs",
    type: "duration",
    description: "`skein purge` removes sessions that were archived at least this long ago. Without it, 30 days.",
  },
  {
    key: "retention",
    field: "retentionMs",
    type: "duration",
    description:
      "Archived sessions expire after this time, with their outputs, transcripts, snapshots, and directories of agents and teams. They are removed at most once a day, after a turn; unmerged work stays. Stored files that no session needs any more go with them, after a week at least. Without it, `purge_after` or 30 days.",
  },
  {
    key: "worktree_setup",
    isInternal: true,
    type: "string",
    description:
      "Command that prepares a new worktree, such as `npm ci`. It runs once, in the sandbox of the first turn there (docs/WORKTREES.md). A project's own counts only after `skein trust`.",
  },
  {
    key: "worktree_ignored",
    isInternal: true,
    type: "boolean",
    default: false,
    description: "Whether a new worktree gets ignored files, as with `--with-ignored`: `node_modules` as a link, `.env` as a copy.",
  },
  {
    key: "auto_resume",
    type: "boolean",
    default: true,
    project: "narrow",
    description: "Whether the next hub continues the turns that ran in a hub that was killed. Otherwise they are recorded as interrupted.",
  },
  {
    key: "context_files",
    type: "boolean",
    default: true,
    project: "narrow",
    description: "Whether AGENTS.md (or CLAUDE.md) files are part of the prompt.",
  },
  {
    key: "skills",
    isInternal: true,
    type: "boolean",
    default: true,
    project: "narrow",
    description: "Whether the catalog of skills is part of the prompt.",
  },
  {
    key: "keys",
    type: "key-map",
    default: "plain",
    description:
      'Keys of the screen: `plain` (no modes) or `vi` (modal). Or your own, with the names of docs/KEYS.md: `{"preset": "vi", "ctrl+t": "fork", "J": "page-down"}`; `none` removes a key.',
  },
  {
    key: "screen_reader",
    type: "boolean",
    default: false,
    description: "Whether `tui` and `chat` print for a screen reader: each line starts with its kind, nothing is drawn.",
  },
  {
    key: "notify",
    type: "choice",
    choices: notifyModes,
    default: "auto",
    project: "yes",
    description:
      "How the TUI notifies you, while its terminal has no focus, of a question or of the end of a turn of 10 s or more: as the terminal can, else by its bell (`auto`); by its bell; by a message to the terminal (`osc`); not at all.",
  },
  ...hookKeys,
  ...fleetKeys,
  ...groupKeys,
  ...serverKeys,
] as const satisfies readonly KeyEntry[];

export type ConfigKeyEntry = (typeof keyTable)[number];
export const configKeys: readonly ConfigKey[] = keyTable.map((entry: KeyEntry) => ({ default: null, ...entry, ...variableOf(entry) }));
/** Keys without a `*`. */
export const plainKeys = configKeys.filter(({ key }) => !key.includes("*"));

/** Keys for lists and plain maps, and keys with a dot, have no variable. */
function variableOf({ key, type }: KeyEntry): { env?: string } {
  return /[*.]/.test(key) || /-list$|^string-map$/.test(type) ? {} : { env: `SKEIN_${key.toUpperCase()}` };
}
