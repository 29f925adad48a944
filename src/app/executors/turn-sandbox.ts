// Builds the sandbox of a turn: its rules, private directories, placeholders and guards. Starts executors in it, and builds the
// command for external CLIs. Loaded with the first tool call, or while the model answers.
import { mkdirSync, realpathSync, utimesSync } from "node:fs";
import { join } from "node:path";
import type { SandboxedCommand, SandboxRequest } from "../../agents/external/turn/external-agent.ts";
import { startExecutor, type StartedExecutor } from "../../executor/client.ts";
import { toolEnvironment } from "../../executor/environment.ts";
import { isTooBroad } from "../../kit/files/path-status.ts";
import type { SessionTag } from "../../protocol/api/policy.ts";
import { sessionTagVariables } from "../../sandbox/enclosing-session.ts";
import type { NamedPaths } from "../../sandbox/git-config.ts";
import { configuredPaths } from "../../sandbox/protected-paths.ts";
import { createSandboxRules, describeSandbox, mountedGuards, type PathRule, type SandboxRules, sortByDepth } from "../../sandbox/rules.ts";
import { moveLoaderVariables, sandboxCommand, type SandboxSupport } from "../../sandbox/sandbox-command.ts";
import type { AppContext } from "../app-context.ts";
import { holdConfiguredPaths, holdGitPlaceholders } from "./git-placeholders.ts";
import { createGuardWatch, type GuardWatch, lostGuardText } from "./guard-watch.ts";
import { openHostRoute } from "./host-route.ts";
import { resolveTurn } from "./resolve-turn.ts";
import {
  canProtectPaths,
  protectOwnDirectories,
  memberTag,
  protectionOf,
  refuseLinks,
  sandboxes,
  type SandboxedTurn,
  supportFor,
} from "./sandbox-scope.ts";
import { createScratchDirectory, makeAccessible, removeCopies, removePrivateDirectory, sessionTemps } from "./scratch-directory.ts";
import { addToolDirectories } from "./tool-directories.ts";

export type Cleanup = () => void;

type SandboxDeps = {
  support: SandboxSupport;
  /** Gets the functions that remove what the sandbox leaves. Call them when no process runs in it any more. */
  cleanups: Cleanup[];
  /** The port of the sandbox that stays open, for the tools of skein. */
  port?: number | undefined;
  /** Set for an executor of one program: it runs beside that of the tools, and two sandboxes must not share their copies. */
  program?: string | undefined;
};

/** The guards must be started after it. */
export async function startTurnExecutor(
  ctx: AppContext,
  turn: SandboxedTurn,
  deps: SandboxDeps,
): Promise<{ executor: StartedExecutor; guards: GuardWatch }> {
  const hostRoute = await openHostRoute(ctx, turn.policy, deps.support);
  const { rules, info, guards, support, copies } = sandboxFor(ctx, turn, { ...deps, port: hostRoute?.port });
  const { args, env } = moveLoaderVariables(toolEnvironment(ctx.env, info));
  const { selfCommand } = ctx;
  const inner = [...args, ...selfCommand, "__executor", JSON.stringify(info)];
  const cwd = turn.directory;
  const sandboxed = sandboxCommand({ command: inner, cwd, rules, support, selfCommand });
  const launch = { command: sandboxed.command, launchEnv: { ...sandboxed.env, ...memberTag(turn) }, env, cwd };
  const ports = hostRoute === null ? {} : { attachPort: hostRoute.attach };
  const executor = startExecutor({ ...launch, sandbox: info, root: turn.root, ...ports });
  if (hostRoute !== null) void executor.ready.catch(hostRoute.close);
  const close = async () => {
    await executor.close().finally(hostRoute?.close);
    if (deps.program !== undefined) removeCopies(copies);
  };
  return { executor: { ...executor, close }, guards };
}

/** The first process of a pid namespace must reap orphans, which no agent's CLI does. */
const reaper = ["/bin/sh", "-c", '"$@"; exit $?', "sh"];

/** The command that starts another program in the turn's sandbox. */
export function turnSandboxCommand(ctx: AppContext, turn: SandboxedTurn, request: SandboxRequest, deps: SandboxDeps): SandboxedCommand {
  const { support, rules, info, guards } = sandboxFor(ctx, turn, deps);
  const pathRules = (access: PathRule["access"], paths: string[]) => paths.map((path) => ({ path: realpathSync(path), access }));
  const wider: SandboxRules | null =
    rules === null
      ? null
      : {
          ...rules,
          rules: sortByDepth([...rules.rules, ...pathRules("read", request.readable), ...pathRules("write", request.writable)]),
          ...(request.port === null ? {} : { port: request.port }),
        };
  const inner = support.processes === "no" ? request.command : [...reaper, ...request.command];
  const { command, env } = sandboxCommand({ command: inner, cwd: turn.directory, rules: wider, support, selfCommand: ctx.selfCommand });
  const { maxProcesses, maxMemoryBytes } = info;
  const watchGuards = (onLost: (message: string) => void): (() => void) => {
    guards.start((path) => onLost(lostGuardText(path)));
    return guards.close;
  };
  const agentEnv = { ...env, TMPDIR: info.temp, ...sessionTagVariables(sessionTagOf(turn)) };
  return { command, env: agentEnv, limits: { maxProcesses, maxMemoryBytes }, watchGuards };
}

function sandboxFor(ctx: AppContext, namedTurn: SandboxedTurn, deps: SandboxDeps) {
  const { cleanups } = deps;
  const support = supportFor(namedTurn.policy, deps.support);
  // The rules open these paths without following links. A link that appears after this makes the start fail.
  const turn = sandboxes(support, namedTurn.policy) ? resolveTurn(namedTurn, ctx.paths.state) : namedTurn;
  const { policy, project, directory } = turn;
  const { temp, copies } = makeTemp(ctx, namedTurn, deps);
  if (policy.name === "workspace") {
    const projects = [project, directory].filter((path) => !isTooBroad(path, ctx.paths.home));
    addToolDirectories(ctx.paths.state, [...projects, ...policy.addDirs, ...policy.allowWrite]);
  }
  const isGuarded = canProtectPaths(policy, support);
  const writable = isGuarded ? [project, directory, ...policy.addDirs, ...policy.allowWrite] : [];
  const { home, config, data, state, cache } = ctx.paths;
  if (sandboxes(support, policy)) protectOwnDirectories(ctx, turn, support);
  const protection = isGuarded ? protectionOf(ctx, turn) : null;
  const configured = protection === null ? null : configuredPaths(protection);
  if (protection !== null && configured !== null) refuseLinks(protection, configured);
  for (const path of new Set(writable)) cleanups.push(holdGitPlaceholders(state, path));
  if (configured !== null) cleanups.push(holdConfiguredPaths(state, missingPaths(configured, project, home)));
  const untagged = createSandboxRules(policy, {
    project,
    directory,
    home,
    own: { config, data, state, cache },
    temp,
    copies,
    isRoot: process.getuid?.() === 0,
    env: ctx.env,
    unixSockets: ctx.config.values.unixSockets,
  });
  const rules: SandboxRules = { ...untagged, ...(deps.port === undefined ? {} : { port: deps.port }), sessionTag: sessionTagOf(turn) };
  const isSandboxed = sandboxes(support, policy);
  // A profile of macOS protects a path by its name, and needs no watch.
  const isWatched = isGuarded && support.tier === "namespaces";
  const guards = createGuardWatch(isWatched ? mountedGuards(policy, { project, directory, home, env: ctx.env }) : [], {
    worktreesIn: isWatched ? protection?.writable : [],
  });
  return { support, rules: isSandboxed ? rules : null, info: describeSandbox(rules, policy, isSandboxed), guards, copies };
}

/** Paths that get a placeholder if they are missing: else a tool could create them, with hooks or settings in them. */
function missingPaths({ hooks, includes, programs }: NamedPaths, project: string, home: string): NamedPaths {
  return { hooks: [...hooks, ...(isTooBroad(project, home) ? [] : [join(project, ".skein")])], includes, programs };
}

function sessionTagOf({ root, nesting }: SandboxedTurn): SessionTag {
  return { session: root, nesting };
}

/** The directories stay for the session's next turn; the daily removal takes unused ones. Each executor has its own `copies`. */
function makeTemp(
  ctx: AppContext,
  { root, policy, project, directory }: SandboxedTurn,
  { cleanups, program = "" }: SandboxDeps,
): { temp: string; copies: string } {
  const parent = ctx.ephemeral ? createScratchDirectory(ctx.paths.data) : join(sessionTemps(ctx.paths.data), root);
  cleanups.push(() => (ctx.ephemeral ? removePrivateDirectory(parent) : makeAccessible(parent)));
  const temp = join(parent, "files");
  const copies = join(parent, "copies", Bun.hash(JSON.stringify([policy, project, directory, program])).toString(16));
  for (const path of [temp, copies]) mkdirSync(path, { recursive: true, mode: 0o700 });
  utimesSync(temp, new Date(), new Date());
  return { temp: realpathSync(temp), copies: realpathSync(copies) };
}
