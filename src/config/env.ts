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
  { name: "XDG_CONFIG_HOME", group: "directories", description: "Parent of the configuration directory `skein/`; default `~/.config`." },
  {
    name: "XDG_DATA_HOME",
    group: "directories",
    description: "Parent of the data directory `skein/`, which has the session tree; default `~/.local/share`.",
  },
  {
    name: "XDG_STATE_HOME",
    group: "directories",
    description: "Parent of the directory `skein/` for state, logs and trust; default `~/.local/state`.",
  },
  { name: "XDG_CACHE_HOME", group: "directories", description: "Parent of the cache directory `skein/`; default `~/.cache`." },
  { name: "HOME", group: "directories", description: "The home directory, written as `~`." },
  { name: "CLAUDE_CONFIG_DIR", group: "directories", description: "Directory with your sign-in of Claude Code; default `~/.claude`." },
  { name: "CODEX_HOME", group: "directories", description: "Directory with your sign-in or key of Codex; default `~/.codex`." },
  {
    name: "GEMINI_CLI_HOME",
    group: "directories",
    description: "Parent of the directory `.gemini` with your sign-in of Gemini CLI; default `~`.",
  },
  { name: "PI_CODING_AGENT_DIR", group: "directories", description: "Directory with your keys of pi; default `~/.pi/agent`." },
  { name: "NO_COLOR", group: "behaviour", description: "Turns colours off if set and not empty." },
  { name: "FORCE_COLOR", group: "behaviour", description: "Turns colours on even if the output is not a terminal; `0` turns them off." },
  { name: "TERM", group: "behaviour", description: "`dumb` means no colours and no moving cursor." },
  { name: "SKEIN_OFFLINE", group: "behaviour", description: "Allows requests only to servers on this machine, if set and not empty." },
  {
    name: "SKEIN_SANDBOX_BEST",
    group: "behaviour",
    description: "For tests: `landlock` or `none` pretends that this machine can enforce no more than that.",
  },
  { name: "ACCESSIBLE", group: "behaviour", description: "Same as `screen_reader`, if set and not `0`." },
  { name: "SKEIN_DEBUG", group: "behaviour", description: "Adds the stack trace to error messages, if set." },
  {
    name: "LC_ALL",
    group: "behaviour",
    description: "Output is plain ASCII if the first set variable of `LC_ALL`, `LC_CTYPE` and `LANG` is not UTF-8.",
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
    const condition = vendor.isLocal ? ", if its server requires one" : name === first?.name ? "" : `, when ${first?.name} is not set`;
    const description = bearer ? `Bearer token for a gateway of \`${vendor.name}\`.` : `Key for \`${vendor.name}\`${condition}.`;
    return { name, group: "keys", description };
  });
}

function baseUrlVariable({ name, baseUrlVariable: variable, isLocal }: Vendor): EnvVariable[] {
  if (variable === "") return [];
  return [{ name: variable, group: "base URLs", description: isLocal ? `Address of \`${name}\`.` : `Where requests to \`${name}\` go.` }];
}
