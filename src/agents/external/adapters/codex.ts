// Adapter of Codex, tested with 0.166.0: flags, environment, sign-in, error messages. codex-reader.ts reads its output.
// All settings are flags: turns that run at the same time share the configuration directory.
import { join } from "node:path";
import { objectAt, textAt } from "../../../models/wire/json.ts";
import type { Adapter, CliLaunch, CliServer, SignIn } from "./adapter.ts";
import { codexReader } from "./readers/codex-reader.ts";

/** Each renewal makes the old token invalid, also in copies. Codex writes the new token into the same file. */
const signIn: SignIn = {
  command: "codex login",
  file: (env, home) => join(env["CODEX_HOME"] || join(home, ".codex"), "auth.json"),
  read: (stored) => {
    const key = textAt(stored, "OPENAI_API_KEY");
    const hasTokens = textAt(objectAt(stored, "tokens"), "refresh_token") !== "";
    if (key !== "" && (!hasTokens || textAt(stored, "auth_mode").toLowerCase() === "apikey")) return { how: "key", key };
    return hasTokens ? { how: "file", isExclusive: true, note: "one turn at a time: its tokens can't be copied" } : null;
  },
  linkedAs: "auth.json",
  hosts: ["chatgpt.com", "*.chatgpt.com", "auth.openai.com"],
};

export const codex: Adapter = {
  name: "codex",
  program: "codex",
  install: "npm install -g @openai/codex",
  vendor: "openai",
  signIn,
  keys: ["CODEX_API_KEY", "OPENAI_API_KEY"],
  efforts: ["none", "minimal", "low", "medium", "high", "xhigh"],
  takesRole: true,
  takesServers: true,
  version: /codex-cli (\d+\.\d+\.\d+\S*)/,
  files: () => ({}),
  env: ({ configDir, endpoint }) => ({
    CODEX_HOME: configDir,
    ...(endpoint === null ? {} : { [tokenVariable]: endpoint.token }),
  }),
  args,
  forbiddenArgs:
    "-c --config --enable --disable --profile -p --oss --local-provider -s --sandbox --approve-for-me -m --model -C --cd " +
    "--dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust --yolo --full-auto --worktree --add-dir " +
    "--ephemeral --ignore-user-config --json --last --all --color",
  stdin: promptOf,
  reader: codexReader,
  failures: [
    [/refresh token|could not be refreshed|sign in again/i, "auth"],
    [/last status: 429/i, "rate-limited"],
    [/content_filter|invalid.prompt|safety reasons|cyber_policy|bio_policy|flagged/i, "refused"],
    [/high demand|at capacity|overloaded/i, "overloaded"],
    [/connection failed|error sending request|stream disconnected|connection closed|timed? ?out/i, "network"],
    [/no rollout found for thread id/i, "broken"],
  ],
  modelRecord: { glob: (sessionId) => `sessions/*/*/*/rollout-*-${sessionId}.jsonl`, model: /"turn_context".*?"model":"([^"]+)"/g },
  sessionLost: /no rollout found for thread id|no (saved )?session found/i,
};

const tokenVariable = "SKEIN_GATEWAY_TOKEN";

/** The options come before `resume` and `fork`, which do not accept all of them. */
function args(launch: CliLaunch): string[] {
  const { model, start } = launch;
  return [
    "exec",
    "--json",
    "--skip-git-repo-check",
    "--ignore-user-config",
    "--ignore-rules",
    ...launch.addDirs.map((directory) => `--add-dir=${directory}`),
    ...(launch.isSandboxed ? ["--dangerously-bypass-approvals-and-sandbox"] : ["--sandbox=workspace-write"]),
    ...(model === null ? [] : [`--model=${model}`]),
    ...settings(launch).map((setting) => `--config=${setting}`),
    ...launch.extraArgs,
    ...(start.how === "new" ? [] : [start.how, start.id]),
    "--",
    "-",
  ];
}

function settings(launch: CliLaunch): string[] {
  const { effort, role, start, endpoint } = launch;
  return [
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
    "feedback.enabled=false",
    // A login shell reads the machine's profile, which changes PATH.
    "allow_login_shell=false",
    // The newest models get tools for sub-agents even with `features.multi_agent=false`.
    "agents.enabled=false",
    ...featuresOff.map((name) => `features.${name}=false`),
    ...(launch.isSandboxed ? [] : ['approval_policy="never"']),
    // The gateway refuses requests with a search that opens pages, and Codex declares one by default.
    ...(launch.isOffline ? ['web_search="disabled"'] : []),
    ...(effort === null ? [] : [`model_reasoning_effort=${quote(effort)}`]),
    ...(role !== null && start.how === "new" ? [`developer_instructions=${quote(role)}`] : []),
    ...(endpoint === null ? [] : gateway(endpoint.url)),
    ...launch.servers.list.flatMap(serverSettings),
    ...hiddenVariables(launch),
  ];
}

/** Codex does not give these variables to its commands. */
function hiddenVariables({ endpoint, servers }: CliLaunch): string[] {
  const names = [...(endpoint === null ? [] : [tokenVariable]), ...Object.keys(servers.values)];
  return names.length === 0 ? [] : [`shell_environment_policy.exclude=${quoteList(names)}`];
}

function serverSettings(server: CliServer): string[] {
  const prefix = `mcp_servers.${server.name}`;
  if (server.kind === "http") {
    const headers = Object.entries(server.headers).map(([name, variable]) => `${quote(name)}=${quote(variable)}`);
    return [`${prefix}.url=${quote(server.url)}`, ...(headers.length === 0 ? [] : [`${prefix}.env_http_headers={${headers.join(",")}}`])];
  }
  const { command, args: serverArgs } = withNamedVariables(server);
  const variables = Object.values(server.env);
  return [
    `${prefix}.command=${quote(command)}`,
    `${prefix}.args=${quoteList(serverArgs)}`,
    ...(variables.length === 0 ? [] : [`${prefix}.env_vars=${quoteList(variables)}`]),
  ];
}

/** Codex passes variables on only by their own names, so a shell gives them the names that the server reads. */
function withNamedVariables({ command, args: serverArgs, env }: Extract<CliServer, { kind: "stdio" }>) {
  const names = Object.entries(env);
  if (names.length === 0) return { command, args: serverArgs };
  const script = names.map(([name, variable]) => `export ${name}="$${variable}"; unset ${variable}; `).join("");
  return { command: "/bin/sh", args: ["-c", `${script}exec "$0" "$@"`, command, ...serverArgs] };
}

function quoteList(texts: readonly string[]): string {
  return `[${texts.map(quote).join(",")}]`;
}

const featuresOff = (
  "multi_agent multi_agent_v2 hooks memories goals apps plugins plugin_discovery_prefetch daemon_auto_start " +
  "unbounded_connection_retries"
).split(" ");

/** The two retry counts multiply: a failing server gets nine requests within a few seconds. */
function gateway(url: string): string[] {
  return [
    'model_provider="skein"',
    'model_providers.skein.name="skein"',
    `model_providers.skein.base_url=${quote(`${url}/v1`)}`,
    `model_providers.skein.env_key=${quote(tokenVariable)}`,
    'model_providers.skein.wire_api="responses"',
    "model_providers.skein.supports_websockets=false",
    "model_providers.skein.request_max_retries=2",
    "model_providers.skein.stream_max_retries=2",
  ];
}

/** Quotes a TOML string: JSON's format, but without lone surrogates and an unescaped DEL. */
function quote(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll("\u007f", "\\u007f");
}

/** Codex keeps the instructions of a session's first turn, so a later role goes into the prompt. */
function promptOf({ prompt, role, start }: CliLaunch): string {
  return role === null || start.how === "new" ? prompt : `${role}\n\n${prompt}`;
}
