// The flags of other programs, and what they mean here. Loaded only for a flag that the command does not have.
import { Fault } from "../../protocol/api/error.ts";
import type { Command } from "./command.ts";

export type OtherFlag = {
  /** The flag as the user types it, with its dashes. */
  typed: readonly string[];
  /** The only commands that the row is for. Default: all. */
  only?: readonly string[];
} & (
  | { /** The name of our flag. Empty: the flag is accepted and has no effect. */ means: string }
  /** The refusal: its reason and the hint. */
  | { problem: string; hint: string | ((value: string) => string) }
);

const runs = ["run", "tui", "chat"];
const asksNothing = "skein asks for no permission";
const policyHint = "--policy workspace is the default: tools change only the project, sandboxed. --policy full removes the sandbox";

/** Modes of `claude --permission-mode` and of `gemini --approval-mode`. */
const policyOfMode: Record<string, string> = {
  plan: "plan",
  bypassPermissions: "full",
  yolo: "full",
  "read-only": "readonly",
};

export const otherFlags: readonly OtherFlag[] = [
  { typed: ["--max-turns", "--max-iterations"], means: "max-steps" },
  { typed: ["--system-prompt"], means: "system" },
  { typed: ["--append-system-prompt"], means: "append-system" },
  { typed: ["--fallback"], means: "at-limit" },
  { typed: ["--fork-session"], means: "fork" },
  { typed: ["-n"], only: ["logs"], means: "limit" },
  { typed: ["--tail"], only: ["logs"], means: "limit" },
  { typed: ["-n", "--name", "--session-name"], only: runs, means: "session" },
  { typed: ["-i"], only: ["run"], means: "image" },
  { typed: ["--no-session", "--no-session-persistence", "--rm"], means: "ephemeral" },
  { typed: ["--output-schema"], means: "json-schema" },
  { typed: ["--format"], only: ["run"], means: "output-format" },
  { typed: ["--cwd", "--dir", "--working-dir"], means: "cd" },
  { typed: ["--prompt", "--prompt-interactive", "--message"], means: "task" },
  { typed: ["-d", "--bg", "--background"], only: ["run"], means: "detach" },
  { typed: ["--last"], only: runs, means: "continue" },
  { typed: ["--include-directories"], means: "add-dir" },
  { typed: ["--attach"], only: ["tui"], means: "hub" },
  { typed: ["-a", "-aq", "-qa"], only: ["ps", "list"], means: "all" },
  { typed: ["-q", "--quiet"], only: ["list"], means: "names" },
  { typed: ["-l", "-la"], only: ["list"], means: "" },
  { typed: ["-l", "--list"], only: ["config"], means: "" },
  { typed: ["--refresh", "--verbose"], only: ["models"], means: "" },
  { typed: ["--stat", "--name-only", "--cached", "--staged"], only: ["diff"], means: "" },
  { typed: ["--no-alt-screen"], means: "inline" },
  { typed: ["--remote"], means: "hub" },
  { typed: ["--skip-trust"], means: "trust" },
  { typed: ["--title"], only: ["run"], means: "session" },
  { typed: ["--oneline"], only: ["list", "logs"], means: "" },
  { typed: ["-f", "-rf", "--force"], only: ["delete"], means: "" },
  { typed: ["-9"], only: ["kill", "pause"], means: "force" },
  { typed: ["--verbose", "-it", "--interactive", "--no-interactive"], only: runs, means: "" },
  { typed: ["--skip-git-repo-check", "--checkpointing", "--raw-output"], only: runs, means: "" },
  { typed: ["-it", "-i", "-t"], only: ["exec"], means: "" },
  {
    typed: [
      "-m",
      "-a",
      "-s",
      "-c",
      "-p",
      "-o",
      "--model",
      "--ephemeral",
      "--last",
      "--output-schema",
      "--skip-git-repo-check",
      "--full-auto",
    ],
    only: ["exec"],
    problem: "exec runs a shell command in a session",
    hint: 'to give an agent a task: skein run "task"',
  },
  {
    typed: ["--yolo", "-y", "--dangerously-skip-permissions", "--dangerously-bypass-approvals-and-sandbox", "--allow-all", "--auto"],
    problem: asksNothing,
    hint: policyHint,
  },
  { typed: ["--full-auto", "--auto-edit", "--yes"], only: runs, problem: asksNothing, hint: policyHint },
  {
    typed: ["--permission-mode", "--approval-mode", "--ask-for-approval"],
    problem: asksNothing,
    hint: (mode) => (policyOfMode[mode] === undefined ? policyHint : `the same is: --policy ${policyOfMode[mode]}`),
  },
  {
    typed: ["--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools", "--exclude-tools"],
    problem: "tools are named without patterns",
    hint: "--tools read,bash gives exactly these tools, --tool-level readonly a set of them",
  },
  {
    typed: ["--mcp-config", "--strict-mcp-config", "--allowed-mcp-server-names"],
    problem: "MCP servers are configured",
    hint: "skein mcp add <name> -- <command>; docs/MCP-SERVERS.md",
  },
  {
    typed: ["-f", "--file"],
    only: runs,
    problem: "a file is part of the task",
    hint: 'name it in the task, or pipe it: skein run "review this" < file',
  },
  {
    typed: ["-o", "--output-last-message"],
    only: runs,
    problem: "the answer goes to stdout",
    hint: "skein run ... > file, or --output-format json",
  },
  { typed: ["-o", "--output"], only: ["replay"], problem: "a picture has its own flag", hint: "skein replay <session> --svg <file>" },
  {
    typed: ["--effort", "--reasoning-effort", "--thinking", "--variant"],
    problem: "the effort is part of the model",
    hint: (level) => `-m <model>:${/^(minimal|low|medium|high|xhigh|max)$/.test(level) ? level : "high"}`,
  },
  {
    typed: ["--profile", "--settings", "--config"],
    problem: "settings are in files",
    hint: "`skein config` lists them, `skein config path` names the files",
  },
  { typed: ["--search", "--web-search"], problem: "tools have no network unless you allow it", hint: "--net on" },
  { typed: ["--input-format"], problem: "the task is text", hint: "each line of `skein chat` on a pipe is a message" },
  { typed: ["--from-pr"], problem: "skein does not talk to GitHub", hint: 'gh pr diff 123 | skein run "review this change"' },
  { typed: ["--no-color"], problem: "colours follow the environment", hint: "NO_COLOR=1 skein ..." },
  {
    typed: ["--debug", "--print-logs", "--log-level"],
    problem: "there is no debug output",
    hint: "SKEIN_DEBUG=1 prints the stack of an error; --output-format events prints every event",
  },
  {
    typed: ["--fallback-model"],
    problem: "--at-limit says what happens at a vendor's limit",
    hint: "another agent or model continues: --at-limit codex,native:sonnet",
  },
  {
    typed: ["--include-partial-messages", "--replay-user-messages"],
    problem: "--output-format stream-json has whole messages",
    hint: "--output-format events has every part of an answer as it arrives",
  },
  {
    typed: ["--agents"],
    only: runs,
    problem: "roles are files",
    hint: "--role <name>; `skein roles` lists them, docs/ROLES.md explains them",
  },
  { typed: ["--oss", "--local-provider"], problem: "a local model is named like any other", hint: "-m ollama/<model>; docs/MODELS.md" },
  { typed: ["--models"], only: runs, problem: "a turn has one model", hint: "-m <model>; `skein models` lists them" },
  { typed: ["--no-tools"], problem: "that is a tool level", hint: "--tool-level none" },
  {
    typed: ["--mode"],
    only: runs,
    problem: "the output has a format",
    hint: (mode) =>
      mode === "rpc" ? "`skein acp` and `skein hub start` serve other programs" : "--output-format text|json|stream-json|events",
  },
  {
    typed: ["--api-key", "--with-api-key", "--device-auth"],
    problem: "skein stores no key",
    hint: "keys are in variables such as ANTHROPIC_API_KEY; `skein auth login` lists them",
  },
  { typed: ["--enable", "--disable"], problem: "there are no feature switches", hint: "`skein config` lists the settings" },
  { typed: ["--bare"], problem: "there is no bare mode", hint: "--no-context-files leaves AGENTS.md out, --tool-level none all tools" },
  { typed: ["--offline"], problem: "a variable switches it on", hint: "SKEIN_OFFLINE=1 skein ..." },
  { typed: ["--theme"], problem: "colours are those of the terminal", hint: "NO_COLOR=1 skein ... prints none" },
  {
    typed: ["--command", "--prompt-template"],
    problem: "a prepared prompt is a skill",
    hint: "`skein skills` lists them, docs/SKILLS.md explains them",
  },
  { typed: ["--skill"], problem: "the agent finds skills by itself", hint: "name it in the task; `skein skills` lists them" },
  {
    typed: ["-e", "--extension", "--extensions", "-l", "--list-extensions", "--plugin-dir"],
    only: runs,
    problem: "skein has no plugins",
    hint: "`skein skills` lists skills; MCP servers: skein mcp add <name> -- <command>",
  },
  { typed: ["--ide"], problem: "editors start skein", hint: "skein acp install <editor>; docs/EDITORS.md" },
  { typed: ["--chrome"], problem: "a browser is an MCP server", hint: "skein mcp add <name> -- <command>; docs/MCP-SERVERS.md has one" },
  {
    typed: ["--teleport", "--remote-control", "--cloud"],
    problem: "skein has no cloud",
    hint: "`skein run --detach` runs on without a terminal, `skein web` shows it in a browser",
  },
  { typed: ["--share"], problem: "skein uploads nothing", hint: "write a page to share: skein export --format html --redact" },
  {
    typed: ["--attach"],
    only: ["run"],
    problem: "a run uses this machine's hub",
    hint: "skein tui --hub <url> opens the screen on another hub, skein attach <session> follows a turn",
  },
  { typed: ["--export"], only: runs, problem: "that is a command", hint: "skein export <session> -o <file>" },
  { typed: ["--delete-session"], problem: "that is a command", hint: "skein delete <session>" },
  {
    typed: ["-p", "--patch", "--stat"],
    only: ["logs"],
    problem: "logs shows no files",
    hint: "skein catch-up <session> lists what changed",
  },
  { typed: ["-d", "-D", "--delete"], only: ["list"], problem: "that is a command", hint: "skein delete <session>" },
  { typed: ["--list-models"], problem: "that is a command", hint: "skein models" },
  { typed: ["--list-sessions"], problem: "that is a command", hint: "skein list" },
  { typed: ["--acp", "--experimental-acp"], problem: "that is a command", hint: "skein acp" },
  {
    typed: ["-b", "-c"],
    only: ["use"],
    problem: "use takes an existing session",
    hint: "`skein fork --name <name>` branches the current one, `skein new <name>` starts an empty one",
  },
  { typed: ["--graph"], problem: "the tree is a command", hint: "skein show" },
];

/**
 * The command line with our flag in place of `typed`. Null if the flag is in no row, or if the command has no such flag.
 * Throws a fault for a flag without a counterpart.
 */
export function translateFlag(command: Command, argv: readonly string[], typed: string): string[] | null {
  const isFor = ({ only }: OtherFlag) => only === undefined || only.includes(command.name);
  if (command.name === "mcp" && argv[0] === "add" && argv.length > 3 && !argv.includes("--"))
    throw new Fault("usage", `mcp add has no flag ${typed}`, {
      hint: `if it belongs to the server, put -- before its command: skein mcp add ${argv[1]} -- ${argv.slice(2).join(" ")}`,
    });
  const row = otherFlags.find((candidate) => candidate.typed.includes(typed) && isFor(candidate));
  const index = argv.findIndex((word) => word === typed || word.startsWith(`${typed}=`));
  if (row === undefined || index < 0) return null;
  const [before, word, after] = [argv.slice(0, index), argv[index]!, argv.slice(index + 1)];
  const attached = word.slice(typed.length);
  if ("problem" in row) {
    const value = attached.slice(1) || (after[0] ?? "");
    const hint = typeof row.hint === "string" ? row.hint : row.hint(/^[\w-]+$/.test(value) ? value : "");
    throw new Fault("usage", `there is no ${typed}: ${row.problem}`, { hint });
  }
  if (row.means === "") return [...before, ...after];
  if (!command.flags.some(({ name }) => name === row.means)) return null;
  return [...before, `--${row.means}${attached}`, ...after];
}
