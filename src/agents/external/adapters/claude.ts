// Adapter of Claude Code, tested with 2.1.325: flags, environment, sign-in, error messages.
// claude-reader.ts reads its output.
import { join } from "node:path";
import { numberAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { Adapter, CliLaunch, SignIn } from "./adapter.ts";
import { serverConfig, type ServerForm, variableReference } from "./server-config.ts";
import { claudeReader } from "./readers/claude-reader.ts";

const minTokenLifeMs = 5 * 60_000;

/**
 * Claude Code replaces its file when it renews the token, and the old token becomes invalid. So neither a copy of the
 * file nor a link to it can be used. The short-lived access token in it can, until it expires.
 */
const signIn: SignIn = {
  command: "claude setup-token, and set CLAUDE_CODE_OAUTH_TOKEN to its output",
  variable: "CLAUDE_CODE_OAUTH_TOKEN",
  file: (env, home) => join(env["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), ".credentials.json"),
  read: (stored, _vendor, now) => {
    const oauth = objectAt(stored, "claudeAiOauth");
    const value = textAt(oauth, "accessToken");
    if (value === "") return null;
    const expiresAt = numberAt(oauth, "expiresAt") ?? 0;
    if (expiresAt < now + minTokenLifeMs)
      return {
        how: "unusable",
        why: "its token has expired",
        hint: "start claude once, which renews it; or set CLAUDE_CODE_OAUTH_TOKEN to the long-lived token of claude setup-token",
      };
    const note = `good until ${new Date(expiresAt).toISOString().slice(0, 16)}Z`;
    return { how: "token", variable: "CLAUDE_CODE_OAUTH_TOKEN", value, note };
  },
  hosts: ["api.anthropic.com"],
};

export const claude: Adapter = {
  name: "claude",
  program: "claude",
  install: "npm install -g @anthropic-ai/claude-code",
  vendor: "anthropic",
  signIn,
  keys: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
  efforts: ["low", "medium", "high", "xhigh", "max"],
  takesRole: true,
  takesServers: true,
  version: /(\d+\.\d+\.\d+\S*) \(Claude Code\)/,
  files: (launch) => ({
    [`${instructionsDir(launch)}/CLAUDE.md`]: instructionsText(launch.directory),
    ...(launch.role === null ? {} : { [roleFile(launch.role)]: launch.role }),
  }),
  env,
  args,
  forbiddenArgs:
    "--dangerously-skip-permissions --allow-dangerously-skip-permissions --permission-mode --permission-prompts " +
    "--permission-prompt-tool --allowedTools --allowed-tools --tools --add-dir --worktree -w --tmux --settings " +
    "--setting-sources --mcp-config --plugin-dir --plugin-url --agents --agent --file --print -p --output-format " +
    "--input-format --replay-user-messages --no-session-persistence --session-id --resume -r --continue -c " +
    "--fork-session --from-pr --teleport --cloud --environment --bg --background --desktop --ide --chrome " +
    "--remote-control --model --fallback-model --effort --strict-mcp-config --system-prompt-snapshot",
  stdin: promptOf,
  reader: claudeReader,
  questionTool: "AskUserQuestion",
  failures: [
    [/sandbox required but unavailable/i, "sandbox-unavailable"],
    [/authentication_failed|oauth token|API Error: 40[13]\b/i, "auth"],
    [/Request rejected \(429\)|limit reached|billing_error/i, "rate-limited"],
    [/usage policy|legal\/aup|unable to respond to this request|can't help with this/i, "refused"],
    [/API Error: 5\d\d\b|server-side issue/i, "overloaded"],
    [/connection_failed|request timed out|connection closed/i, "network"],
    [/max(imum)? (budget|number of turns)|error_max_(budget_usd|turns)/i, "budget"],
    [/issue with the selected model|No conversation found with session ID|Session ID \S+ is already in use/i, "broken"],
  ],
  sessionLost: /No conversation found with session ID/i,
};

function args(launch: CliLaunch): string[] {
  const { model, effort, role, start } = launch;
  return [
    "-p",
    "--output-format=stream-json",
    "--verbose",
    "--include-partial-messages",
    "--forward-subagent-text",
    // A project's settings may run hooks, and their `env` overrides the base URL of the environment.
    "--setting-sources=user",
    "--strict-mcp-config",
    ...(launch.servers.list.length === 0 ? [] : [`--mcp-config=${JSON.stringify({ mcpServers: serverConfig(launch, serverForm) })}`]),
    // Without this flag, later turns of a session send the system prompt of the first turn, and a new role is ignored.
    "--system-prompt-snapshot=off",
    `--tools=${tools}`,
    ...(model === null ? [] : [`--model=${model}`]),
    ...(effort === null ? [] : [`--effort=${effort}`]),
    ...(role === null ? [] : [`--append-system-prompt-file=${launch.configDir}/${roleFile(role)}`]),
    ...[`${launch.configDir}/${instructionsDir(launch)}`, ...launch.addDirs].map((directory) => `--add-dir=${directory}`),
    ...permissions(launch),
    start.how === "new" ? `--session-id=${start.id}` : `--resume=${start.id}`,
    ...(start.how === "fork" ? ["--fork-session", `--session-id=${start.forkId}`] : []),
    ...launch.extraArgs,
  ];
}

const serverForm: ServerForm = {
  value: variableReference,
  stdio: ({ command, args: serverArgs, env: serverEnv }) => ({ type: "stdio", command, args: serverArgs, env: serverEnv }),
  http: ({ url, headers }) => ({ type: "http", url, headers }),
};

/** An explicit list, so that no tool of a later version can start agents, sessions or timers. Unknown names are ignored. */
const tools =
  "Bash,BashOutput,Edit,ExitPlanMode,Glob,Grep,KillShell,LS,MultiEdit,NotebookEdit,Read,Skill,TaskCreate,TaskGet,TaskList,TaskOutput,TaskStop,TaskUpdate,TodoWrite,ToolSearch,WebFetch,WebSearch,Write";

/** Without our sandbox, Claude Code's own is on. If the machine can't run that, Claude Code refuses to start. */
function permissions(launch: CliLaunch): string[] {
  if (launch.isSandboxed) return ["--dangerously-skip-permissions"];
  const sandbox = { enabled: true, failIfUnavailable: true, autoAllowBashIfSandboxed: true, allowUnsandboxedCommands: false };
  return ["--permission-mode=acceptEdits", "--permission-prompts=none", `--settings=${JSON.stringify({ sandbox })}`];
}

function env(launch: CliLaunch): Record<string, string> {
  const { endpoint, effort } = launch;
  const thinking = effort === null ? undefined : thinkingTokens[effort];
  return {
    CLAUDE_CONFIG_DIR: launch.configDir,
    CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: "1",
    // Claude Code stores its memory per project in the configuration directory, so branches of one tree would share it.
    CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
    CLAUDE_CODE_MAX_RETRIES: "3",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_TELEMETRY: "1",
    ...(launch.isSandboxed && launch.isRoot ? { IS_SANDBOX: "1" } : {}),
    ...(thinking === undefined ? {} : { MAX_THINKING_TOKENS: thinking }),
    ...(endpoint === null ? {} : { ANTHROPIC_BASE_URL: endpoint.url, ANTHROPIC_API_KEY: endpoint.token }),
  };
}

/** For models without an effort, such as Sonnet 4.5: a thinking budget instead of the default 31,999. Others ignore it. */
const thinkingTokens: Record<string, string> = { low: "4000", medium: "16000" };

/** One directory of instructions per project: turns that run at the same time share the configuration directory. */
function instructionsDir(launch: CliLaunch): string {
  return `skein/${Bun.hash(launch.directory).toString(36)}`;
}

/** Named by a hash of its text: turns that run at the same time may have different roles. */
function roleFile(role: string): string {
  return `skein/role-${Bun.hash(role).toString(36)}.md`;
}

/** Imports the project's instructions, which are ignored along with its settings. Missing files cause no error. */
function instructionsText(directory: string): string {
  const path = directory.replaceAll(" ", "\\ ");
  return `@${path}/AGENTS.md\n\n@${path}/CLAUDE.md\n`;
}

/** A leading space keeps Claude Code from running a prompt such as `/help` as its own command. */
function promptOf(launch: CliLaunch): string {
  return launch.prompt.startsWith("/") ? ` ${launch.prompt}` : launch.prompt;
}
