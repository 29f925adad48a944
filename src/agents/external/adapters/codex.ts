// Codex, as it was found to behave in 0.166.0: flags, environment, words of its errors. What it prints is read in
// codex-reader.ts. Everything is told by flags: its configuration directory is shared by turns that run at once.
import type { Adapter, CliLaunch } from "./adapter.ts";
import { codexReader } from "./readers/codex-reader.ts";
import { matchFailure, type FailurePattern } from "./failure-patterns.ts";
import { isLongText } from "./long-prompt.ts";
import { codexSignIn } from "../credentials/sign-ins.ts";

export const codex: Adapter = {
  name: "codex",
  program: "codex",
  install: "npm install -g @openai/codex",
  vendor: "openai",
  wire: "openai-responses",
  signIn: codexSignIn,
  keys: ["CODEX_API_KEY", "OPENAI_API_KEY"],
  ids: "theirs",
  canFork: true,
  resumesAnywhere: true,
  efforts: ["none", "minimal", "low", "medium", "high", "xhigh"],
  takesRole: true,
  versionOf: (output) => /codex-cli (\d+\.\d+\.\d+\S*)/.exec(output)?.[1] ?? null,
  files: () => ({}),
  env: ({ configDir, endpoint }) => ({
    CODEX_HOME: configDir,
    ...(endpoint === null ? {} : { [tokenVariable]: endpoint.token }),
  }),
  args,
  forbiddenArgs: (
    "-c --config --enable --disable --profile -p --oss --local-provider -s --sandbox --approve-for-me -m --model -C --cd " +
    "--dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust --yolo --full-auto --worktree --add-dir " +
    "--ephemeral --ignore-user-config --json --last --all --color"
  ).split(" "),
  stdin: (launch) => (isLong(launch) ? promptOf(launch) : null),
  reader: codexReader,
  failureOf: (message) => matchFailure(message, failures),
  isSessionLost: (message) => /no rollout found for thread id|no (saved )?session found/i.test(message),
  transcript: (nativeId) => `sessions/*/*/*/rollout-*-${nativeId}.jsonl`,
};

const tokenVariable = "SKEIN_GATEWAY_TOKEN";

/** Options that `resume` and `fork` don't know stand before them. */
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
    isLong(launch) ? "-" : promptOf(launch),
  ];
}

function settings(launch: CliLaunch): string[] {
  const { effort, role, start, endpoint } = launch;
  return [
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
    "feedback.enabled=false",
    // A login shell reads the machine's profile, which sets another PATH.
    "allow_login_shell=false",
    // The newest models get tools for sub-agents whatever `features.multi_agent` says.
    "agents.enabled=false",
    ...featuresOff.map((name) => `features.${name}=false`),
    ...(launch.isSandboxed ? [] : ['approval_policy="never"']),
    ...(effort === null ? [] : [`model_reasoning_effort=${quote(effort)}`]),
    ...(role !== null && start.how === "new" ? [`developer_instructions=${quote(role)}`] : []),
    ...(endpoint === null ? [] : gateway(endpoint.url)),
  ];
}

const featuresOff = (
  "multi_agent multi_agent_v2 hooks memories goals apps plugins plugin_discovery_prefetch daemon_auto_start " +
  "unbounded_connection_retries"
).split(" ");

/** The numbers of retries multiply: a server that fails is asked nine times, within a few seconds. */
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
    `shell_environment_policy.exclude=[${quote(tokenVariable)}]`,
  ];
}

/** TOML's quoted strings are JSON's, but for what can't be a character there. */
function quote(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll("\u007f", "\\u007f");
}

/** The instructions of the first turn stay with a session and others are not taken: a later role goes into the prompt. */
function promptOf({ prompt, role, start }: CliLaunch): string {
  const words = role === null || start.how === "new" ? prompt : `${role}\n\n${prompt}`;
  // Alone it would mean stdin.
  return words === "-" ? "- " : words;
}

function isLong(launch: CliLaunch): boolean {
  return isLongText(promptOf(launch));
}

const failures: FailurePattern[] = [
  [/not logged in|codex login|missing environment variable|refresh token|could not be refreshed|sign in again/i, "auth"],
  [/last status: 429|usage limit/i, "rate-limited"],
  [/content_filter|invalid.prompt|safety reasons|cyber_policy|bio_policy|flagged/i, "refused"],
  [/high demand|at capacity|overloaded/i, "overloaded"],
  [/connection failed|error sending request|stream disconnected|connection closed|timed? ?out/i, "network"],
  [/no rollout found for thread id/i, "broken"],
];
