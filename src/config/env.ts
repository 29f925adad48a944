// Every environment variable that skein reads, for the documentation. Variables that set a configuration key
// stand in keys.ts with their key; this table must not repeat them.

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
  { name: "ANTHROPIC_API_KEY", group: "keys", description: "Key for `anthropic`." },
  { name: "ANTHROPIC_AUTH_TOKEN", group: "keys", description: "Bearer token for an Anthropic gateway." },
  {
    name: "CLAUDE_CODE_OAUTH_TOKEN",
    group: "keys",
    description: "Your sign-in with Claude Code, from `claude setup-token`; for `-a claude` only.",
  },
  { name: "OPENAI_API_KEY", group: "keys", description: "Key for `openai`." },
  { name: "CODEX_API_KEY", group: "keys", description: "Key for `openai` that `-a codex` uses before OPENAI_API_KEY." },
  { name: "GEMINI_API_KEY", group: "keys", description: "Key for `gemini`." },
  { name: "GOOGLE_API_KEY", group: "keys", description: "Key for `gemini`, when GEMINI_API_KEY is not set." },
  { name: "OPENROUTER_API_KEY", group: "keys", description: "Key for `openrouter`." },
  { name: "GROQ_API_KEY", group: "keys", description: "Key for `groq`." },
  { name: "DEEPSEEK_API_KEY", group: "keys", description: "Key for `deepseek`." },
  { name: "XAI_API_KEY", group: "keys", description: "Key for `xai`." },
  { name: "MISTRAL_API_KEY", group: "keys", description: "Key for `mistral`." },
  { name: "OLLAMA_API_KEY", group: "keys", description: "Key for `ollama`, where its server asks for one." },
  { name: "ANTHROPIC_BASE_URL", group: "base URLs", description: "Where requests to `anthropic` go." },
  { name: "OPENAI_BASE_URL", group: "base URLs", description: "Where requests to `openai` go." },
  { name: "GOOGLE_GEMINI_BASE_URL", group: "base URLs", description: "Where requests to `gemini` go." },
  { name: "OLLAMA_HOST", group: "base URLs", description: "Where Ollama listens." },
  { name: "HTTPS_PROXY", group: "network", description: "Proxy for https requests (also `https_proxy`)." },
  { name: "HTTP_PROXY", group: "network", description: "Proxy for http requests (also `http_proxy`)." },
  { name: "NO_PROXY", group: "network", description: "Hosts that are reached without a proxy (also `no_proxy`)." },
  { name: "NODE_EXTRA_CA_CERTS", group: "network", description: "File with further certificate authorities." },
];
