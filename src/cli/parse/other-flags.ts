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
  { typed: ["-a"], only: ["ps", "list"], means: "all" },
  { typed: ["-l", "-la"], only: ["list"], means: "" },
  { typed: ["--oneline"], only: ["list", "logs"], means: "" },
  { typed: ["-f", "-rf", "--force"], only: ["delete"], means: "" },
  { typed: ["-9"], only: ["kill", "pause"], means: "force" },
  { typed: ["--verbose", "-it", "--interactive", "--no-interactive"], only: runs, means: "" },
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
  { typed: ["--mcp-config"], problem: "MCP servers are configured", hint: "skein mcp add <name> -- <command>; docs/MCP-SERVERS.md" },
  {
    typed: ["-f", "--file"],
    only: runs,
    problem: "a file is part of the task",
    hint: 'name it in the task, or pipe it: skein run "review this" < file',
  },
  { typed: ["-o", "--output-last-message"], problem: "the answer goes to stdout", hint: "skein run ... > file, or --output-format json" },
  {
    typed: ["--effort", "--reasoning-effort", "--thinking", "--variant"],
    problem: "the effort is part of the model",
    hint: (level) => `-m <model>:${level || "high"}`,
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
    typed: ["--debug"],
    problem: "there is no debug output",
    hint: "SKEIN_DEBUG=1 prints the stack of an error; --output-format events prints every event",
  },
  { typed: ["--list-models"], problem: "that is a command", hint: "skein models" },
  { typed: ["--list-sessions"], problem: "that is a command", hint: "skein list" },
  { typed: ["--acp", "--experimental-acp"], problem: "that is a command", hint: "skein acp" },
  {
    typed: ["-b"],
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
