// Claude Code, as it was found to behave in 2.1.325: flags, environment, words of its errors.
// What it prints is read in claude-reader.ts.
import type { Adapter, CliLaunch } from "./adapter.ts";
import { claudeReader } from "./readers/claude-reader.ts";
import { matchFailure, type FailurePattern } from "./failure-patterns.ts";
import { isLongText } from "./long-prompt.ts";
import { createQuestionReader } from "./questions.ts";
import { claudeSignIn } from "../credentials/sign-ins.ts";

export const claude: Adapter = {
  name: "claude",
  program: "claude",
  install: "npm install -g @anthropic-ai/claude-code",
  vendor: "anthropic",
  wire: "anthropic",
  signIn: claudeSignIn,
  keys: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
  ids: "ours",
  canFork: true,
  resumesAnywhere: true,
  efforts: ["low", "medium", "high", "xhigh", "max"],
  takesRole: true,
  versionOf: (output) => /(\d+\.\d+\.\d+\S*) \(Claude Code\)/.exec(output)?.[1] ?? null,
  files: (launch) => ({ [`${memoryOf(launch)}/CLAUDE.md`]: instructionsOf(launch.directory) }),
  env,
  args,
  forbiddenArgs: (
    "--dangerously-skip-permissions --allow-dangerously-skip-permissions --permission-mode --permission-prompts " +
    "--permission-prompt-tool --allowedTools --allowed-tools --tools --add-dir --worktree -w --tmux --settings " +
    "--setting-sources --mcp-config --plugin-dir --plugin-url --agents --agent --file --print -p --output-format " +
    "--input-format --replay-user-messages --no-session-persistence --session-id --resume -r --continue -c " +
    "--fork-session --from-pr --teleport --cloud --environment --bg --background --desktop --ide --chrome " +
    "--remote-control --model --fallback-model --effort --strict-mcp-config --system-prompt-snapshot"
  ).split(" "),
  stdin: (launch) => (isLong(launch) ? promptOf(launch) : null),
  reader: claudeReader,
  questionsIn: createQuestionReader("AskUserQuestion"),
  failureOf: (message) => matchFailure(message, failures),
  isSessionLost: (message) => /No conversation found with session ID/i.test(message),
  transcript: (nativeId) => `projects/*/${nativeId}.jsonl`,
};

function args(launch: CliLaunch): string[] {
  const { model, effort, role, start } = launch;
  return [
    "-p",
    "--output-format=stream-json",
    "--verbose",
    "--include-partial-messages",
    "--forward-subagent-text",
    // A project's own settings may run hooks, and their `env` moves the base URL, whatever the environment says.
    "--setting-sources=user",
    "--strict-mcp-config",
    // Otherwise the system prompt of a session's first turn is sent for ever, and a later role never arrives.
    "--system-prompt-snapshot=off",
    `--tools=${tools}`,
    ...(model === null ? [] : [`--model=${model}`]),
    ...(effort === null ? [] : [`--effort=${effort}`]),
    ...(role === null ? [] : [`--append-system-prompt=${role}`]),
    ...[`${launch.configDir}/${memoryOf(launch)}`, ...launch.addDirs].map((directory) => `--add-dir=${directory}`),
    ...permissions(launch),
    start.how === "new" ? `--session-id=${start.id}` : `--resume=${start.id}`,
    ...(start.how === "fork" ? ["--fork-session", `--session-id=${start.forkId}`] : []),
    ...launch.extraArgs,
    ...(isLong(launch) ? [] : ["--", promptOf(launch)]),
  ];
}

/** Named one by one, so that no tool of a coming version can start agents, other sessions or timers; unknown names are ignored. */
const tools =
  "Bash,BashOutput,Edit,ExitPlanMode,Glob,Grep,KillShell,LS,MultiEdit,NotebookEdit,Read,Skill,TaskCreate,TaskGet,TaskList,TaskOutput,TaskStop,TaskUpdate,TodoWrite,ToolSearch,WebFetch,WebSearch,Write";

/** Without our walls its own sandbox is on, and where that can't be it refuses to start instead of going without. */
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
    // Kept per project in the configuration directory: one branch would remember the other.
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

/** Models that know no effort (Sonnet 4.5, say) are told one by their budget, 31,999 by default; the others ignore it. */
const thinkingTokens: Record<string, string> = { low: "4000", medium: "16000" };

/** A place for instructions of its own per directory: the configuration directory is shared by turns that run at once. */
function memoryOf(launch: CliLaunch): string {
  return `skein/${Bun.hash(launch.directory).toString(36)}`;
}

/** Without the project's settings its instructions are not read either: they are imported here, missing ones silently. */
function instructionsOf(directory: string): string {
  const path = directory.replaceAll(" ", "\\ ");
  return `@${path}/AGENTS.md\n\n@${path}/CLAUDE.md\n`;
}

/** A prompt that begins with a slash would be a command of Claude Code's own, and some of them ask no model. */
function promptOf(launch: CliLaunch): string {
  return launch.prompt.startsWith("/") ? ` ${launch.prompt}` : launch.prompt;
}

function isLong(launch: CliLaunch): boolean {
  return isLongText(launch.prompt);
}

const failures: FailurePattern[] = [
  [/sandbox required but unavailable/i, "sandbox-unavailable"],
  [/failed to authenticate|authentication_failed|not logged in|\/login\b|oauth token|API Error: 40[13]\b/i, "auth"],
  [/Request rejected \(429\)|\b(usage|session|weekly) limit|limit reached|billing_error/i, "rate-limited"],
  [/usage policy|legal\/aup|unable to respond to this request|can't help with this/i, "refused"],
  [/API Error: 5\d\d\b|server-side issue/i, "overloaded"],
  [/connection_failed|request timed out|connection closed/i, "network"],
  [/max(imum)? (budget|number of turns)|error_max_(budget_usd|turns)/i, "budget"],
  [/issue with the selected model|No conversation found with session ID|Session ID \S+ is already in use/i, "broken"],
];
