// Runs git for skein itself: snapshots, diffs, restores, worktrees, history. Tools can change the files and the repository
// that git reads, so git runs in a sandbox of its own. One shell per project and access stays open for all its commands.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { GitCommand, GitRunner } from "../../files/git.ts";
import { CommandShell } from "../../kit/process/command-shell.ts";
import { findProgram } from "../../kit/process/trusted-programs.ts";
import { Fault } from "../../protocol/api/error.ts";
import { createGitRules } from "../../sandbox/rules.ts";
import { sandboxCommand, type SandboxCommand, type SandboxSupport } from "../../sandbox/sandbox-command.ts";
import { programSearch, type AppContext } from "../app-context.ts";
import { createPipeWatch } from "./pipe-watch.ts";

export type ContainedGit = {
  run: GitRunner;
  /** Resolves when no command runs, or after a few seconds. */
  settle: () => Promise<void>;
  close: () => void;
};

type ContainedGitDeps = {
  support: () => Promise<SandboxSupport>;
  /** A new private directory that is removed when the app closes. */
  createScratchDirectory: () => string;
};

/** More idle shells than this are rare: one process works in few projects at a time. */
const maxIdleShells = 8;
/** No command of git takes longer, so that none holds up a turn without end. Most callers set a shorter limit. */
const maxCommandMs = 600_000;

type ShellTarget = Pick<GitCommand, "project" | "repository" | "access">;

/** An app that closes waits at most this long for running commands. */
const maxCloseMs = 3_000;
const idleMs = 10;

export function createContainedGit(ctx: AppContext, deps: ContainedGitDeps): ContainedGit {
  const shells = new Map<string, CommandShell>();
  const openShell = async (target: ShellTarget, purpose: "git" | "find"): Promise<CommandShell> => {
    const support = await deps.support();
    const key = JSON.stringify([target.project, target.repository, target.access, purpose]);
    const shell = shells.get(key) ?? startShell(ctx, target, { support, directory: deps.createScratchDirectory() });
    shells.delete(key);
    shells.set(key, shell); // a Map is in order of insertion: the latest is last
    const idle = [...shells].filter(([, { isBusy }]) => !isBusy);
    for (const [oldKey, old] of idle.slice(0, -maxIdleShells)) {
      if (old === shell) continue;
      shells.delete(oldKey);
      old.close();
    }
    return shell;
  };
  const pipes = createPipeWatch(async (project, argv, limits) => {
    const shell = await openShell({ project, repository: null, access: "read" }, "find");
    return shell.run({ argv, cwd: project, env: { LC_ALL: "C", PATH: "/usr/bin:/bin" }, ...limits });
  });
  return {
    run: async (command) => {
      const git = requireGit(ctx, command.project);
      const { args, env, project, stdin, source, maxBytes } = command;
      return pipes.during({ project, isShadow: command.repository !== null }, async (blocked) => {
        const shell = await openShell(command, "git");
        const signal = AbortSignal.any([AbortSignal.timeout(maxCommandMs), blocked, ...(command.signal ? [command.signal] : [])]);
        const limits = { signal, ...(stdin && { stdin }), ...(maxBytes !== undefined && { maxBytes }) };
        const pipe = source === undefined ? {} : { source: [...ctx.selfCommand, `__${source}`] };
        return shell.run({ ...pipe, argv: [git, ...args], cwd: project, env: { ...env, PATH: "/usr/bin:/bin" }, ...limits });
      });
    },
    settle: async () => {
      // The snapshot of a stopped turn is several commands, one right after the other. It must still be recorded.
      for (const end = performance.now() + maxCloseMs; performance.now() < end; await Bun.sleep(idleMs))
        if (![...shells.values()].some((shell) => shell.isBusy)) break;
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
  target: ShellTarget,
  { support, directory }: { support: SandboxSupport; directory: string },
): CommandShell {
  const { temp, ...shell } = containedCommand(ctx, target, { command: ["/bin/sh"], support, directory });
  return new CommandShell({ ...shell, directory: temp });
}

/** The command in git's sandbox. `directory` is private; `temp` in it is the only other directory that it can write. */
export function containedCommand(
  ctx: AppContext,
  { project, repository, access }: ShellTarget,
  { command, support, directory }: { command: string[]; support: SandboxSupport; directory: string },
): SandboxCommand & { temp: string } {
  const { home, config, data, state, cache } = ctx.paths;
  const temp = join(directory, "io");
  const copies = join(directory, "copies");
  for (const path of [temp, copies]) mkdirSync(path, { mode: 0o700 });
  const rules = createGitRules({
    project,
    repository,
    isProjectWritable: access === "write",
    home,
    own: { config, data, state, cache },
    temp,
    copies,
    isRoot: process.getuid?.() === 0,
    env: ctx.env,
  });
  return { ...sandboxCommand({ command, cwd: "/", rules, support, selfCommand: ctx.selfCommand }), temp };
}
