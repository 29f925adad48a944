// The configuration keys with a `*`: those of vendors, models and agents, by name.
import { wireNames } from "../../protocol/api/wire-name.ts";
import type { KeyEntry } from "../keys.ts";

export const groupKeys = [
  {
    key: "providers.*.base_url",
    type: "url",
    description: "Base URL of this vendor.",
  },
  {
    key: "providers.*.api_key",
    type: "string",
    secret: true,
    description: "Key for this vendor; `$NAME` reads it from that variable, so that it is not in the file.",
  },
  {
    key: "providers.*.wire",
    type: "choice",
    choices: wireNames,
    description: "The vendor's API; needed for a vendor that skein does not know (else `openai-chat`).",
  },
  {
    key: "providers.*.headers",
    type: "string-map",
    fallback: {},
    secret: true,
    description: "Headers added to every request; a value `$NAME` is read from that variable.",
  },
  {
    key: "providers.*.context_window",
    type: "integer",
    description:
      "Tokens that fit into one request to this vendor's models; older messages are summarised before that limit. Without it, the value of the price list.",
  },
  {
    key: "providers.*.max_retries",
    type: "count",
    description:
      "How often a request of the native agent to this vendor is sent again after a temporary error, such as an overload. Without it, 3; 0 never repeats a request.",
  },
  {
    key: "providers.*.requests_per_minute",
    type: "integer",
    description:
      "Requests of the native agent that one skein process sends to this vendor in a minute. Further requests wait. Without it, no limit.",
  },
  {
    key: "models.*.temperature",
    type: "amount",
    project: "yes",
    description: "Temperature of the native agent's requests to this model, named `vendor/id`. Without it, the vendor's default.",
  },
  {
    key: "models.*.max_output_tokens",
    type: "integer",
    project: "narrow",
    description: "Tokens of one answer of this model in the native agent. Without it, the vendor's limit, or 32,000 with Anthropic.",
  },
  {
    key: "models.*.price.input",
    field: "priceInput",
    type: "amount",
    description:
      "Dollars per million input tokens of this model. With both prices, budgets work for a model that is not in the price list.",
  },
  {
    key: "models.*.price.output",
    field: "priceOutput",
    type: "amount",
    description: "Dollars per million output tokens of this model.",
  },
  {
    key: "models.*.price.cache_read",
    field: "priceCacheRead",
    type: "amount",
    description: "Dollars per million tokens that this model reads from its cache. Without it, the price of input.",
  },
  {
    key: "models.*.price.cache_write",
    field: "priceCacheWrite",
    type: "amount",
    description: "Dollars per million tokens that this model writes to its cache. Without it, the price of input.",
  },
  {
    key: "agents.*.command",
    type: "string",
    description: "Program of your own agent: a name in PATH, or an absolute path (docs/OTHER-AGENTS.md).",
  },
  {
    key: "agents.*.args",
    type: "string-list",
    fallback: [],
    description:
      "Its arguments. `{prompt}`, `{model}`, `{vendor}`, `{effort}`, `{session}`, `{directory}` and `{config}` are filled in; without `{prompt}` the prompt is the last argument. Without a model, `{model}` and the flag before it are left out.",
  },
  {
    key: "agents.*.resume_args",
    type: "string-list",
    description:
      "Its arguments when it continues its own session, `{session}`. Without them every turn starts a new session and sends the conversation so far.",
  },
  {
    key: "agents.*.output",
    type: "choice",
    choices: ["text", "json", "stream-json", "acp"],
    default: "text",
    description:
      "What it prints: its answer (`text`), one JSON value (`json`), Claude Code's lines (`stream-json`); or it speaks ACP (`acp`).",
  },
  {
    key: "agents.*.env",
    type: "string-map",
    fallback: {},
    secret: true,
    description:
      "Variables that it gets besides the default ones; a value `$NAME` is read from that variable. Without them its only credential is the gateway's.",
  },
  {
    key: "agents.*.hint",
    type: "string",
    description: "Shown when the program is missing, such as the command that installs it.",
  },
] as const satisfies readonly KeyEntry[];
