// Every environment variable that skein reads, for the documentation. Variables that set a configuration key are in keys.ts
// and must not be repeated here.

import { type Vendor, vendors } from "../models/vendors.ts";

export type EnvVariable = { name: string; group: EnvGroup; description: string };
export type EnvGroup = "directories" | "behaviour" | "keys" | "base URLs" | "network";

export const environmentVariables: readonly EnvVariable[] = [
  {
    name: "SKEIN_HOME",
    group: "directories",
    description: "Moves all four directories to `config`, `data`, `state` and `cache` below it.",
  },
  { name: "XDG_CONFIG_HOME", group: "directories", description: "Configuration lies in `skein/` below it; `~/.config` without it." },
  { name: "XDG_DATA_HOME", group: "directories", description: "The tree lies in `skein/` below it; `~/.local/share` without it." },
  {
    name: "XDG_STATE_HOME",
    group: "directories",
    description: "State, logs and trust lie in `skein/` below it; `~/.local/state` without it.",
  },
  { name: "XDG_CACHE_HOME", group: "directories", description: "What can be made again lies in `skein/` below it; `~/.cache` without it." },
  { name: "HOME", group: "directories", description: "The home directory: what `~` means." },
  { name: "CLAUDE_CONFIG_DIR", group: "directories", description: "Where Claude Code keeps your sign-in; `~/.claude` without it." },
  { name: "CODEX_HOME", group: "directories", description: "Where Codex keeps your sign-in or key; `~/.codex` without it." },
  { name: "GEMINI_CLI_HOME", group: "directories", description: "Gemini CLI keeps your sign-in in `.gemini` below it; `~` without it." },
  { name: "PI_CODING_AGENT_DIR", group: "directories", description: "Where pi keeps your keys; `~/.pi/agent` without it." },
  { name: "NO_COLOR", group: "behaviour", description: "Set and not empty: no colours." },
  { name: "FORCE_COLOR", group: "behaviour", description: "Colours although the output is no terminal; `0` means none." },
  { name: "TERM", group: "behaviour", description: "`dumb` means no colours and no moving cursor." },
  { name: "SKEIN_OFFLINE", group: "behaviour", description: "Set and not empty: only servers on this machine are asked." },
  {
    name: "SKEIN_SANDBOX_BEST",
    group: "behaviour",
    description: "For tests: `landlock` or `none` pretends that this machine can enforce no more than that.",
  },
  { name: "ACCESSIBLE", group: "behaviour", description: "Set, and not `0`: as `screen_reader`." },
  { name: "SKEIN_DEBUG", group: "behaviour", description: "Set: an error also shows where in the program it arose." },
  {
    name: "LC_ALL",
    group: "behaviour",
    description: "With `LC_CTYPE` and `LANG`: without UTF-8 in the first that is set, marks are plain ASCII.",
  },
  ...vendors.flatMap(keyVariables),
  {
    name: "CLAUDE_CODE_OAUTH_TOKEN",
    group: "keys",
    description: "Your sign-in with Claude Code, from `claude setup-token`; for `-a claude` only.",
  },
  { name: "CODEX_API_KEY", group: "keys", description: "Key for `openai` that `-a codex` uses before OPENAI_API_KEY." },
  ...vendors.flatMap(baseUrlVariable),
  { name: "HTTPS_PROXY", group: "network", description: "Proxy for https requests (also `https_proxy`)." },
  { name: "HTTP_PROXY", group: "network", description: "Proxy for http requests (also `http_proxy`)." },
  { name: "NO_PROXY", group: "network", description: "Hosts that are reached without a proxy (also `no_proxy`)." },
  { name: "NODE_EXTRA_CA_CERTS", group: "network", description: "File with further certificate authorities." },
];

function keyVariables(vendor: Vendor): EnvVariable[] {
  const [first] = vendor.keyVariables;
  return vendor.keyVariables.map(({ name, bearer }) => {
    const condition = vendor.isLocal ? ", where its server asks for one" : name === first?.name ? "" : `, when ${first?.name} is not set`;
    const description = bearer ? `Bearer token for a gateway of \`${vendor.name}\`.` : `Key for \`${vendor.name}\`${condition}.`;
    return { name, group: "keys", description };
  });
}

function baseUrlVariable({ name, baseUrlVariable: variable, isLocal }: Vendor): EnvVariable[] {
  if (variable === "") return [];
  return [{ name: variable, group: "base URLs", description: isLocal ? `Address of \`${name}\`.` : `Where requests to \`${name}\` go.` }];
}
