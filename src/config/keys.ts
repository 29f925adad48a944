// Every configuration key, once: parsing, `skein config`, the JSON schema and docs/CONFIG.md come from this table.
// It holds data only; reading files and variables is done in load.ts.
import { wireNames } from "../protocol/api/wire-name.ts";
import { notifyModes } from "../protocol/api/api.ts";
import { policyNames, sandboxModes, toolLevels } from "../protocol/api/policy.ts";

export type KeyType =
  | "string"
  | "integer"
  | "number"
  | "boolean"
  | "duration"
  | "url"
  | "choice"
  | "string-map"
  | "string-list"
  | "path-list"
  | "variable-list";

/** What the config of a project that nobody has trusted may do with a key. */
export type ProjectPermission = "yes" | "narrow" | "trusted";

export type ConfigKey = {
  /** Dotted; a `*` stands for any name. */
  key: string;
  type: KeyType;
  choices?: readonly string[];
  /** Null: decided where it is used, as the description says. */
  default: unknown;
  /** The variable that sets it. */
  env?: string;
  project: ProjectPermission;
  /** For `narrow`: values from the narrowest to the widest; null counts as the narrowest. Numbers narrow downwards. */
  order?: readonly unknown[];
  /** For `narrow` limits without a value: what holds for headless runs, in the unit of the value. */
  ceiling?: number;
  /** Shown as set or not set, never as its value. */
  secret?: boolean;
  description: string;
};

const hour = 3_600_000;
const minute = 60_000;
export const defaultAskTimeoutMs = 30 * minute;

export const configKeys: readonly ConfigKey[] = [
  {
    key: "model",
    type: "string",
    default: null,
    env: "SKEIN_MODEL",
    project: "yes",
    description: "Model as `vendor/id[:effort]`. Without it, the first vendor with a key decides.",
  },
  {
    key: "agent",
    type: "string",
    default: "native",
    env: "SKEIN_AGENT",
    project: "yes",
    description: "Agent that takes a turn when none is named.",
  },
  {
    key: "tool_level",
    type: "choice",
    choices: toolLevels,
    default: "orchestrator",
    env: "SKEIN_TOOL_LEVEL",
    project: "narrow",
    order: ["none", "readonly", "minimal", "orchestrator"],
    description: "Which tools the native agent has.",
  },
  {
    key: "policy",
    type: "choice",
    choices: policyNames,
    default: "workspace",
    env: "SKEIN_POLICY",
    project: "narrow",
    order: ["readonly", "plan", "workspace", "full"],
    description: "What a turn may read and write.",
  },
  {
    key: "sandbox",
    type: "choice",
    choices: sandboxModes,
    default: null,
    env: "SKEIN_SANDBOX",
    project: "narrow",
    order: ["required", "auto", "off"],
    description:
      "Whether a turn needs walls held by the kernel. Without it, `required` in `plan` and `readonly`, else `auto`; `off` only with policy `full`.",
  },
  {
    key: "net",
    type: "choice",
    choices: ["off", "on"],
    default: "off",
    env: "SKEIN_NET",
    project: "narrow",
    order: ["off", "on"],
    description: "Whether tools may reach the network.",
  },
  {
    key: "unix_sockets",
    type: "boolean",
    default: false,
    env: "SKEIN_UNIX_SOCKETS",
    project: "narrow",
    order: [false, true],
    description:
      "Whether tools may use unix sockets (tmux, a local Postgres, an agent's socket). The kernel can't tell a socket of their own from one that leads out of the walls.",
  },
  {
    key: "allow_write",
    type: "path-list",
    default: [],
    project: "trusted",
    description:
      "Paths outside the project that tools may write. Relative ones count from the project, or from the home directory in the user's file.",
  },
  {
    key: "tool_env",
    type: "variable-list",
    default: [],
    project: "trusted",
    description:
      "Names of environment variables that tools may see besides the usual ones; a skill may need some. Keys of model vendors can't be among them.",
  },
  {
    key: "max_steps",
    type: "integer",
    default: null,
    env: "SKEIN_MAX_STEPS",
    project: "narrow",
    ceiling: 200,
    description: "Model requests in one turn. Without it, 200 in headless runs and no limit when a person is there.",
  },
  {
    key: "max_tokens",
    type: "integer",
    default: null,
    env: "SKEIN_MAX_TOKENS",
    project: "narrow",
    description: "Input, output and cache-write tokens of a turn and all under it.",
  },
  {
    key: "max_budget_usd",
    type: "number",
    default: null,
    env: "SKEIN_MAX_BUDGET_USD",
    project: "narrow",
    description: "Dollars that a turn and all under it may cost.",
  },
  {
    key: "max_children",
    type: "integer",
    default: null,
    env: "SKEIN_MAX_CHILDREN",
    project: "narrow",
    ceiling: 200,
    description: "Sub-sessions under a turn. Without it, 200 in headless runs and no limit when a person is there.",
  },
  {
    key: "timeout",
    type: "duration",
    default: null,
    env: "SKEIN_TIMEOUT",
    project: "narrow",
    ceiling: 4 * hour,
    description: "How long a turn may take in all. Without it, 4 h in headless runs and no limit when a person is there.",
  },
  {
    key: "idle_timeout",
    type: "duration",
    default: null,
    env: "SKEIN_IDLE_TIMEOUT",
    project: "narrow",
    ceiling: 10 * minute,
    description: "How long a turn may be silent. Without it, 10 min in headless runs and no limit when a person is there.",
  },
  {
    key: "ask_timeout",
    type: "duration",
    default: null,
    env: "SKEIN_ASK_TIMEOUT",
    project: "narrow",
    ceiling: defaultAskTimeoutMs,
    description: "How long a turn that nobody looks at (of the hub, or detached) waits for the answer to a question. Without it, 30 min.",
  },
  {
    key: "purge_after",
    type: "duration",
    default: null,
    env: "SKEIN_PURGE_AFTER",
    project: "trusted",
    description: "How long ago a session must have been archived for `skein purge` to remove it. Without it, 30 days.",
  },
  {
    key: "context_files",
    type: "boolean",
    default: true,
    env: "SKEIN_CONTEXT_FILES",
    project: "narrow",
    order: [false, true],
    description: "Whether AGENTS.md (or CLAUDE.md) files go into the prompt.",
  },
  {
    key: "skills",
    type: "boolean",
    default: true,
    env: "SKEIN_SKILLS",
    project: "narrow",
    order: [false, true],
    description: "Whether the catalog of skills goes into the prompt.",
  },
  {
    key: "keys",
    type: "string-map",
    default: {},
    project: "trusted",
    description:
      'Keys of the screen and the commands they mean, by the names of docs/KEYS.md: `{"ctrl+t": "fork", "Space g": "model", "J": "page-down"}`. `none` takes a key away.',
  },
  {
    key: "screen_reader",
    type: "boolean",
    default: false,
    env: "SKEIN_SCREEN_READER",
    project: "trusted",
    description: "Whether `tui` and `chat` in a terminal are for listening: line by line, each with its kind in words, nothing drawn.",
  },
  {
    key: "notify",
    type: "choice",
    choices: notifyModes,
    default: "auto",
    env: "SKEIN_NOTIFY",
    project: "yes",
    description:
      "How the screen tells you, while you look elsewhere, that a turn of 10 s or more is over or that the agent asks: as the terminal can, else by its bell (`auto`); by its bell; by a message to the terminal (`osc`); not at all.",
  },
  {
    key: "providers.*.base_url",
    type: "url",
    default: null,
    project: "trusted",
    description: "Where requests to this vendor go.",
  },
  {
    key: "providers.*.api_key",
    type: "string",
    default: null,
    project: "trusted",
    secret: true,
    description: "Key for this vendor; `$NAME` takes it from that variable and keeps it out of the file.",
  },
  {
    key: "providers.*.wire",
    type: "choice",
    choices: wireNames,
    default: null,
    project: "trusted",
    description: "Which protocol the vendor speaks; needed for a vendor that skein does not know (else `openai-chat`).",
  },
  {
    key: "providers.*.headers",
    type: "string-map",
    default: null,
    project: "trusted",
    secret: true,
    description: "Headers added to every request; a value `$NAME` is taken from that variable.",
  },
  {
    key: "providers.*.context_window",
    type: "integer",
    default: null,
    project: "trusted",
    description:
      "Tokens that fit into one request to this vendor's models; older work is summarised before they are used up. Without it, what the price list says of the model.",
  },
  {
    key: "agents.*.command",
    type: "string",
    default: null,
    project: "trusted",
    description: "Program of an agent of your own: a name looked for in PATH, or an absolute path (docs/OTHER-AGENTS.md).",
  },
  {
    key: "agents.*.args",
    type: "string-list",
    default: null,
    project: "trusted",
    description:
      "Its arguments. `{prompt}`, `{model}`, `{vendor}`, `{effort}`, `{session}`, `{directory}` and `{config}` are filled in; without `{prompt}` the prompt is the last argument. A `{model}` without a model goes, and so does the flag before it.",
  },
  {
    key: "agents.*.resume_args",
    type: "string-list",
    default: null,
    project: "trusted",
    description:
      "Its arguments when it goes on in its own session, `{session}`. Without them every turn is a new session that is told what came before.",
  },
  {
    key: "agents.*.output",
    type: "choice",
    choices: ["text", "json", "stream-json", "acp"],
    default: "text",
    project: "trusted",
    description:
      "What it prints: its answer (`text`), one JSON value (`json`), Claude Code's lines (`stream-json`); or it is talked to over ACP (`acp`).",
  },
  {
    key: "agents.*.env",
    type: "string-map",
    default: null,
    project: "trusted",
    secret: true,
    description:
      "Variables that it gets besides the usual ones; a value `$NAME` is taken from that variable. Without them it has no credential but the gateway's.",
  },
  {
    key: "agents.*.hint",
    type: "string",
    default: null,
    project: "trusted",
    description: "What to do when the program is not there, such as the command that installs it.",
  },
];

const plainKeys = new Map(configKeys.filter((row) => !row.key.includes("*")).map((row) => [row.key, row]));
const openKeys = configKeys.filter((row) => row.key.includes("*")).map((row) => ({ row, pattern: row.key.split(".") }));

/** The row for a dotted key; `providers.acme.wire` finds `providers.*.wire`. */
export function findKey(dotted: string): ConfigKey | undefined {
  const plain = plainKeys.get(dotted);
  if (plain !== undefined || !dotted.includes(".")) return plain;
  const words = dotted.split(".");
  return openKeys.find(({ pattern }) => pattern.length === words.length && matches(words, pattern))?.row;
}

/** Whether there are keys below this one: `providers`, `providers.acme`. */
export function hasSubKeys(dotted: string): boolean {
  const words = dotted.split(".");
  return openKeys.some(({ pattern }) => words.length < pattern.length && matches(words, pattern));
}

/** Names in open maps are plain, so that they can stand in `vendor/id`. */
function matches(words: readonly string[], pattern: readonly string[]): boolean {
  return words.every((word, at) => (pattern[at] === "*" ? /^[a-z0-9][a-z0-9_-]{0,63}$/i.test(word) : pattern[at] === word));
}
