// Runs git for skein itself: snapshots, diffs, restores, worktrees, history. Tools can change the files and the repository
// that git reads, so git runs in a sandbox of its own. One shell per project and access stays open for all its commands.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { GitCommand, GitRunner } from "../../files/git.ts";
import { CommandShell } from "../../kit/process/command-shell.ts";
import { findProgram } from "../../kit/process/trusted-programs.ts";
import { Fault } from "../../protocol/api/error.ts";
import { createGitRules } from "../../sandbox/rules.ts";
import { sandboxCommand, type SandboxSupport } from "../../sandbox/sandbox-command.ts";
import { programSearch, type AppContext } from "../app-context.ts";

export type ContainedGit = { run: GitRunner; close: () => void };

type ContainedGitDeps = {
  support: () => Promise<SandboxSupport>;
  /** A new private directory that is removed when the app closes. */
  createScratchDirectory: () => string;
};

/** More shells than this are rare: one process works in few projects at a time. */
const maxShells = 8;

export function createContainedGit(ctx: AppContext, deps: ContainedGitDeps): ContainedGit {
  const shells = new Map<string, CommandShell>();
  const openShell = (command: GitCommand, support: SandboxSupport): CommandShell => {
    const key = JSON.stringify([command.project, command.repository, command.access]);
    const shell = shells.get(key) ?? startShell(ctx, command, { support, directory: deps.createScratchDirectory() });
    shells.delete(key);
    shells.set(key, shell); // a Map is in order of insertion: the latest is last
    for (const [oldKey, old] of [...shells].slice(0, -maxShells)) {
      shells.delete(oldKey);
      old.close();
    }
    return shell;
  };
  return {
    run: async (command) => {
      const git = requireGit(ctx, command.project);
      const shell = openShell(command, await deps.support());
      const { args, env, project, stdin, source, maxBytes, signal } = command;
      const limits = { ...(stdin && { stdin }), ...(maxBytes !== undefined && { maxBytes }), ...(signal && { signal }) };
      const pipe = source === undefined ? {} : { source: [...ctx.selfCommand, `__${source}`] };
      return shell.run({ ...pipe, argv: [git, ...args], cwd: project, env: { ...env, PATH: "/usr/bin:/bin" }, ...limits });
    },
    close: () => shells.forEach((shell) => shell.close()),
  };
}

function requireGit(ctx: AppContext, project: string): string {
  const { path, refused } = findProgram("git", programSearch(ctx, { project }));
  if (path !== null) return path;
  if (refused === null) throw new Fault("not-installed", "git is not installed", { hint: "install it" });
  throw new Fault("not-installed", `git at ${refused.path} is not used: ${refused.reason}`, { hint: "install git in a system directory" });
}

function startShell(
  ctx: AppContext,
  command: GitCommand,
  { support, directory }: { support: SandboxSupport; directory: string },
): CommandShell {
  const { home, config, data, state, cache } = ctx.paths;
  const temp = join(directory, "io");
  const copies = join(directory, "copies");
  for (const path of [temp, copies]) mkdirSync(path, { mode: 0o700 });
  const rules = createGitRules({
    project: command.project,
    writable: [...(command.repository === null ? [] : [command.repository]), ...(command.access === "write" ? [command.project] : [])],
    home,
    own: { config, data, state, cache },
    temp,
    copies,
    isRoot: process.getuid?.() === 0,
    env: ctx.env,
  });
  const shell = sandboxCommand({ command: ["/bin/sh"], cwd: "/", rules, support, selfCommand: ctx.selfCommand });
  return new CommandShell({ command: shell, directory: temp });
}
