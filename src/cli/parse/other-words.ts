// The words of other programs: commands that people type by habit, and what they mean here. Loaded only for a word that is
// no command. A word either runs a command of skein, or is refused with the command that skein has for it.
import { Fault } from "../../protocol/api/error.ts";

export type OtherWord = {
  /** One or two words, as typed after `skein`. */
  typed: readonly string[];
} & ({ means: string } | { problem: string; hint: string });

const policyText = "--policy workspace|readonly|plan|full, and docs/SANDBOX.md explains them";
export const otherWords: readonly OtherWord[] = [
  { typed: ["ls", "sessions", "session", "history", "branch", "branches", "session list", "session ls"], means: "list" },
  { typed: ["sessions list", "sessions ls", "threads"], means: "list" },
  { typed: ["rm", "remove", "archive", "session delete", "session rm", "sessions delete", "sessions rm"], means: "delete" },
  { typed: ["unarchive", "undelete"], means: "restore" },
  { typed: ["stop", "cancel", "abort", "interrupt"], means: "kill" },
  { typed: ["unpause"], means: "resume" },
  { typed: ["continue"], means: "--continue" },
  { typed: ["session resume", "sessions resume"], means: "resume" },
  { typed: ["stats", "cost", "costs"], means: "usage" },
  { typed: ["serve", "server", "daemon", "app-server"], means: "hub start" },
  { typed: ["version"], means: "--version" },
  { typed: ["e"], means: "run" },
  { typed: ["plan"], means: "run --policy=plan" },
  { typed: ["login status", "providers", "auth show"], means: "auth status" },
  { typed: ["events"], means: "logs --follow" },
  { typed: ["reflog"], means: "show" },
  { typed: ["save"], means: "export" },
  { typed: ["load"], means: "import" },
  { typed: ["projects"], means: "list --all" },
  { typed: ["proto", "rpc"], means: "hub start" },
  { typed: ["migrate-installer"], means: "update" },
  { typed: ["project purge", "system prune"], means: "purge" },
  { typed: ["debug config", "features", "features list"], means: "config" },
  { typed: ["mcp auth"], means: "mcp login" },
  { typed: ["mcp debug", "mcp test", "mcp call", "mcp tools"], means: "mcp try" },
  { typed: ["mcp status"], means: "mcp list" },
  { typed: ["mcp show"], means: "mcp get" },
  { typed: ["hooks list", "hooks ls"], means: "hooks test" },
  { typed: ["worktrees ls"], means: "worktrees list" },
  { typed: ["worktree remove", "worktree rm", "worktree prune", "worktrees remove", "worktrees prune"], means: "worktrees clean" },
  { typed: ["completion"], means: "completions" },
  { typed: ["login", "signin", "setup-token"], means: "auth login" },
  { typed: ["auth list", "auth ls", "keys", "whoami"], means: "auth status" },
  { typed: ["log"], means: "logs" },
  { typed: ["tail", "follow"], means: "logs --follow" },
  { typed: ["upgrade", "self-update"], means: "update" },
  { typed: ["status", "top", "jobs"], means: "ps" },
  { typed: ["tree", "inspect", "session show", "sessions show"], means: "show" },
  { typed: ["session export", "sessions export"], means: "export" },
  { typed: ["session fork", "sessions fork", "clone"], means: "fork" },
  { typed: ["rewind", "rollback", "revert"], means: "undo" },
  { typed: ["checkout", "switch"], means: "use" },
  { typed: ["mv", "session rename", "sessions rename"], means: "rename" },
  { typed: ["cherry-pick"], means: "graft" },
  { typed: ["find", "grep", "session search", "sessions search"], means: "search" },
  { typed: ["compare"], means: "diff" },
  { typed: ["gc", "prune"], means: "purge" },
  { typed: ["fsck"], means: "verify" },
  { typed: ["settings", "config list", "config ls", "config show"], means: "config" },
  { typed: ["agent", "agent list", "agents list", "agents ls"], means: "agents" },
  { typed: ["model", "model list", "models list", "models ls"], means: "models" },
  { typed: ["skill", "skill list", "skills list", "skills ls"], means: "skills" },
  { typed: ["role", "roles list", "roles ls"], means: "roles" },
  { typed: ["team ls", "teams"], means: "team list" },
  { typed: ["ask", "prompt", "query", "task"], means: "run" },
  { typed: ["ui", "open"], means: "tui" },
  { typed: ["repl"], means: "chat" },
  { typed: ["info", "debug", "health"], means: "doctor" },
  { typed: ["manual", "docs"], means: "man" },
  { typed: ["tutorial", "example"], means: "demo" },
  { typed: ["mcp serve", "mcp-server"], means: "mcp" },
  { typed: ["mcp ls"], means: "mcp list" },
  { typed: ["mcp rm"], means: "mcp remove" },
  {
    typed: ["mcp add-json"],
    problem: "there is no mcp add-json",
    hint: "the same entry: skein mcp add <name> '{...}'",
  },
  {
    typed: ["logout", "auth logout", "signout"],
    problem: "skein stores no key",
    hint: "unset the variable that `skein auth status` names, or sign out of the agent itself: claude auth logout, codex logout; of an MCP server: skein mcp logout <name>",
  },
  { typed: ["acp serve", "acp-server", "agent stdio"], means: "acp" },
  { typed: ["web serve", "dashboard", "gui"], means: "web" },
  { typed: ["share"], problem: "skein uploads nothing", hint: "write a page to share: skein export --format html --redact > session.html" },
  { typed: ["pr", "github"], problem: "skein does not talk to GitHub", hint: 'gh pr diff 123 | skein run "review this change"' },
  {
    typed: ["review", "ultrareview", "code-review", "security-review"],
    problem: "a review is a run",
    hint: 'git diff | skein run "review this change" --role codereviewer',
  },
  { typed: ["exec-server", "execpolicy", "sandbox"], problem: "the sandbox is part of every run", hint: policyText },
  {
    typed: ["plugin", "plugins", "extension", "extensions", "install"],
    problem: "skein has no plugins",
    hint: "`skein skills` lists skills (docs/SKILLS.md); `skein mcp install <client>` adds skein to another program",
  },
  { typed: ["uninstall"], problem: "skein does not remove itself", hint: "`skein update` prints how it was installed" },
  { typed: ["commit", "push"], problem: "skein makes no commits", hint: 'use git, or ask the agent: skein "commit the changes"' },
  {
    typed: ["apply"],
    problem: "an agent's changes are in the project already",
    hint: "`git diff` shows them, `skein catch-up` lists them, `skein undo` takes the last turn back",
  },
  { typed: ["worktree"], means: "worktrees" },
  {
    typed: ["worktree add", "worktrees add"],
    problem: "a worktree is made for a session",
    hint: 'skein run -w <name> "task"',
  },
  {
    typed: ["stash", "stash pop"],
    problem: "skein keeps no stash",
    hint: "`skein undo` takes the last turn back, `skein run -w` works in a copy of the project",
  },
  { typed: ["tag"], problem: "names belong to sessions", hint: "skein fork --name <name> keeps this point under a name" },
  {
    typed: ["rebase"],
    problem: "no branch is ever rewritten",
    hint: "`skein graft <session>` adds the result of another branch, `skein merge` brings a worktree's files in",
  },
  {
    typed: ["pull", "fetch", "remote"],
    problem: "sessions stay on this machine",
    hint: "machines share them in a fleet (`skein fleet`), files with `skein export --format jsonl` and `skein import`",
  },
  { typed: ["bisect"], problem: "skein searches no commits", hint: "skein blame <file> shows which turn wrote each line" },
  { typed: ["wait"], problem: "runs can be followed", hint: "skein logs -f <session> follows one to its end" },
  { typed: ["cp"], problem: "a session is copied as a branch", hint: "skein fork <session> --name <name>" },
  {
    typed: ["image", "images", "container", "containers", "volume", "volumes", "compose", "network"],
    problem: "skein has no containers",
    hint: "`skein list` lists sessions, `skein ps` what runs; docs/SANDBOX.md explains the sandbox",
  },
  {
    typed: ["cloud", "teleport", "remote-control"],
    problem: "skein has no cloud",
    hint: "`skein run --detach`, `skein web` and `skein fleet` run without your terminal",
  },
  { typed: ["db"], problem: "the store has no command", hint: "`skein config path` says where it is, `skein verify` checks it" },
  {
    typed: ["agent create", "agents create", "agents add", "agents new"],
    problem: "an agent is a setting",
    hint: "docs/OTHER-AGENTS.md; a role is a file: `skein roles`, docs/ROLES.md",
  },
  {
    typed: ["mcp add-from-claude-desktop"],
    problem: "entries are added one by one",
    hint: "skein mcp add <name> '{...}' takes an entry of its file; `.mcp.json` of a project counts after `skein trust`",
  },
  { typed: ["mcp reset-project-choices"], problem: "a project's servers count after trust", hint: "skein trust --help" },
  {
    typed: ["mcp enable", "mcp disable"],
    problem: "that is part of the entry",
    hint: '"disabled": true in the entry; `skein config edit`',
  },
  {
    typed: ["clear", "reset"],
    problem: "a conversation is never cleared",
    hint: "`skein --new` starts another, `skein undo` takes the last turn back",
  },
  {
    typed: ["start", "restart"],
    problem: "sessions need no start",
    hint: "`skein` opens the screen, `skein run --resume <session>` continues a turn",
  },
];

/** The row of the longest phrase that `argv` starts with. Null if it is in no row. */
export function findOtherWord(argv: readonly string[]): { row: OtherWord; count: number } | null {
  for (const count of [2, 1]) {
    const phrase = argv.slice(0, count).join(" ").toLowerCase();
    const row = argv.length < count ? undefined : otherWords.find(({ typed }) => typed.includes(phrase));
    if (row !== undefined) return { row, count };
  }
  return null;
}

/** The command line that `argv` means. Null if its words are in no row. Throws a fault for a word without a counterpart. */
export function translateWords(argv: readonly string[]): string[] | null {
  const found = findOtherWord(argv);
  if (found === null) return null;
  const { row, count } = found;
  if ("means" in row) return [...row.means.split(" "), ...argv.slice(count)];
  throw new Fault("usage", `there is no "skein ${argv.slice(0, count).join(" ")}": ${row.problem}`, { hint: row.hint });
}
