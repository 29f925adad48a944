// Starts executors in the sandbox that this machine supports: one for each policy, project and topmost session, at its
// first use. It also builds the sandbox command for external CLIs.
import { chmodSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import type { SandboxedCommand, SandboxRequest } from "../../agents/external/turn/external-agent.ts";
import { startExecutor } from "../../executor/client.ts";
import { toolEnvironment } from "../../executor/environment.ts";
import { isTooBroad } from "../../kit/files/path-status.ts";
import { shellQuote } from "../../kit/text/shell-quote.ts";
import type { GitRunner } from "../../files/git.ts";
import type { AppContext } from "../app-context.ts";
import type { ContainedGit } from "./contained-git.ts";
import { forgetSandboxSupport, loadSandboxSupport } from "./sandbox-support.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { EnforcedPolicy, Policy, SessionTag } from "../../protocol/api/policy.ts";
import type { Executor, TurnInput } from "../../protocol/api/ports.ts";
import {
  enforcedPolicy,
  moveLoaderVariables,
  type SandboxSupport,
  sandboxCommand,
  type SandboxCommand,
} from "../../sandbox/sandbox-command.ts";
import {
  describeSandbox,
  sortByDepth,
  planFilePath,
  type PathRule,
  type SandboxRules,
  createSandboxRules,
  mountedGuards,
  writablePaths,
} from "../../sandbox/rules.ts";
import { sessionTagVariables } from "../../sandbox/enclosing-session.ts";
import type { NamedPaths } from "../../sandbox/git-config.ts";
import { configuredPaths, findUnprotectableLink } from "../../sandbox/protected-paths.ts";
import { holdConfiguredPaths, holdGitPlaceholders } from "./git-placeholders.ts";
import { createScratchDirectory, removeScratchLeftovers } from "./scratch-directory.ts";
import { resolveTurn } from "./resolve-turn.ts";
import { addToolDirectories } from "./tool-directories.ts";
import { createExecutorPool } from "./executor-pool.ts";
import { createGuardWatch, guardExecutor, lostGuardText } from "./guard-watch.ts";

export type ExecutorProvider = {
  /** Returns what this machine enforces for the policy. Throws if the policy requires a sandbox and there is none. */
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
  /** Throws if a path that must stay protected is a link. `enforced` must have been called before. */
  refuseLinks: (turn: Pick<SandboxedTurn, "project" | "directory" | "policy">) => void;
  /** `enforced` must have been called before. */
  get: (turn: SandboxedTurn) => Executor;
  /** Ends the executors of a topmost session, with all processes that their commands left running. */
  endAll: (root: string) => Promise<void>;
  /** Null before the first call of `enforced`. */
  support: () => SandboxSupport | null;
  /** The command that starts another program in the turn's sandbox. */
  sandboxCommand: (turn: SandboxedTurn, request: SandboxRequest) => SandboxedCommand;
  /** Whether the turn is sandboxed, and whether it has its own network namespace. */
  sandboxStatus: (turn: SandboxedTurn) => { isSandboxed: boolean; hasOwnNetwork: boolean };
  /** The tier of the sandbox on this machine. */
  tier: () => Promise<SandboxSupport["tier"]>;
  /** A new directory that is removed when the app closes. */
  createScratchDirectory: () => string;
  /** Runs git for skein itself, in a sandbox of its own. */
  git: GitRunner;
  /** The command in a sandbox that reads the project and writes nothing, for other programs of skein that open its files. */
  containedReader: (project: string, command: string[]) => Promise<SandboxCommand>;
  close: () => Promise<void>;
};

export type SandboxedTurn = Pick<TurnInput, "root" | "directory" | "project" | "policy" | "nesting">;

type Cleanup = () => void;

const maxTempAgeMs = 7 * 24 * 3_600_000;

export function createExecutors(ctx: AppContext): ExecutorProvider {
  const pool = createExecutorPool((root) => ctx.processContext.running.get(root) !== undefined);
  const cleanups: Cleanup[] = [];
  let support: SandboxSupport | null = null;
  let containedGit: ContainedGit | null = null;

  const requireSupport = (): SandboxSupport => {
    if (support === null) throw new Fault("internal", "the sandbox was not checked before use");
    return support;
  };
  const get = (turn: SandboxedTurn): Executor => {
    const key = JSON.stringify([turn.root, turn.project, turn.directory, turn.policy, turn.nesting, planKey(turn)]);
    return pool.get(key, turn.root, () => start(turn, key));
  };
  const start = (turn: SandboxedTurn, key: string): Executor => {
    const sandbox = sandboxFor(ctx, turn, requireSupport(), cleanups);
    const { rules, info, guards } = sandbox;
    const { args, env } = moveLoaderVariables(toolEnvironment(ctx.env, info));
    const { selfCommand } = ctx;
    const inner = [...args, ...selfCommand, "__executor", JSON.stringify(info)];
    const cwd = turn.directory;
    const sandboxed = sandboxCommand({ command: inner, cwd, rules, support: sandbox.support, selfCommand });
    const launch = { command: sandboxed.command, launchEnv: sandboxed.env, env, cwd };
    const executor = startExecutor({ ...launch, sandbox: info, root: turn.root });
    // The cached probe result is wrong, so the next start probes again.
    executor.ready.catch(() => forgetSandboxSupport(ctx));
    return guardExecutor(executor, guards, { drop: () => pool.drop(key), next: () => get(turn) });
  };
  const createScratch = (): string => {
    const directory = createScratchDirectory(ctx.paths.data);
    cleanups.push(() => removeTemp(directory));
    return directory;
  };
  return {
    enforced: async (policy) => {
      support ??= await loadSandboxSupport(ctx);
      return requireSandbox(enforcedPolicy(supportFor(policy, support), policy), policy, support);
    },
    refuseLinks: (turn) => refuseLinks(ctx, turn, requireSupport()),
    get,
    endAll: (root) => pool.dropAll(root),
    support: () => support,
    sandboxCommand: (turn, request) => sandboxCommandFor(ctx, turn, request, sandboxFor(ctx, turn, requireSupport(), cleanups)),
    sandboxStatus: ({ policy }) => {
      const isSandboxed = sandboxes(requireSupport(), policy);
      return { isSandboxed, hasOwnNetwork: isSandboxed && requireSupport().tier === "namespaces" && policy.net === "off" };
    },
    tier: async () => (support ??= await loadSandboxSupport(ctx)).tier,
    createScratchDirectory: createScratch,
    git: async (command) => {
      const { createContainedGit } = await import("./contained-git.ts");
      containedGit ??= createContainedGit(ctx, {
        support: async () => (support ??= await loadSandboxSupport(ctx)),
        createScratchDirectory: createScratch,
      });
      return containedGit.run(command);
    },
    containedReader: async (project, command) => {
      const { containedCommand } = await import("./contained-git.ts");
      support ??= await loadSandboxSupport(ctx);
      const place = { project, repository: null, access: "read" } as const;
      return containedCommand(ctx, place, { command, support, directory: createScratch() });
    },
    close: async () => {
      await containedGit?.close();
      await pool.close();
      for (const cleanup of cleanups) {
        try {
          cleanup();
        } catch {
          // A directory is in use again, and so no longer empty.
        }
      }
      removeScratchLeftovers(ctx.paths.data);
    },
  };
}

/** The first process of a pid namespace must reap orphans, which no agent's CLI does. */
const reaper = ["/bin/sh", "-c", '"$@"; exit $?', "sh"];

function sandboxCommandFor(ctx: AppContext, turn: SandboxedTurn, request: SandboxRequest, sandbox: TurnSandbox): SandboxedCommand {
  const { support, rules, info, guards } = sandbox;
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

function requireSandbox(enforced: EnforcedPolicy, policy: Policy, support: SandboxSupport | null): EnforcedPolicy {
  if (policy.sandbox !== "required" || policy.name === "full" || enforced.fs) return enforced;
  const hint = support?.hint ?? "run skein doctor to see what this machine can enforce";
  throw new Fault("sandbox-unavailable", `policy ${policy.name} can't be enforced here: ${support?.why ?? "this machine has no sandbox"}`, {
    hint: `${hint}; or run without a sandbox: --policy workspace --sandbox auto`,
  });
}

function canGuard({ name }: Policy, { tier }: SandboxSupport): boolean {
  return name === "workspace" && (tier === "namespaces" || tier === "seatbelt");
}

function refuseLinks(
  { paths: { home, state }, env }: AppContext,
  turn: Pick<SandboxedTurn, "project" | "directory" | "policy">,
  support: SandboxSupport,
): void {
  if (!sandboxes(support, turn.policy)) return;
  const { project, directory, policy } = resolveTurn(turn, state);
  if (!canGuard(policy, support)) return;
  const writable = writablePaths(policy, { project, directory, home, env });
  const link = findUnprotectableLink({ writable, allowed: policy.allowWrite, home, env });
  if (link === null) return;
  throw new Fault("sandbox-unavailable", `${link} is a symbolic link, and the sandbox can't protect what a link leads to`, {
    hint: `replace it by a directory; or use --policy readonly; or let tools write it: --allow-write ${shellQuote(link)}`,
  });
}

type TurnSandbox = ReturnType<typeof sandboxFor>;

function sandboxFor(ctx: AppContext, namedTurn: SandboxedTurn, machineSupport: SandboxSupport, cleanups: Cleanup[]) {
  const support = supportFor(namedTurn.policy, machineSupport);
  // The rules open these paths without following links. A link that appears after this makes the start fail.
  const turn = sandboxes(support, namedTurn.policy) ? resolveTurn(namedTurn, ctx.paths.state) : namedTurn;
  const { policy, project, directory } = turn;
  const { temp, copies } = makeTemp(ctx, namedTurn, cleanups);
  if (policy.name === "workspace") {
    const projects = [project, directory].filter((path) => !isTooBroad(path, ctx.paths.home));
    addToolDirectories(ctx.paths.state, [...projects, ...policy.addDirs, ...policy.allowWrite]);
  }
  const isGuarded = canGuard(policy, support);
  const writable = isGuarded ? [project, directory, ...policy.addDirs, ...policy.allowWrite] : [];
  const { home, config, data, state, cache } = ctx.paths;
  for (const path of writable) cleanups.push(holdGitPlaceholders(state, path));
  if (isGuarded) cleanups.push(holdConfiguredPaths(state, missingPaths(ctx, turn)));
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
  const rules: SandboxRules = { ...untagged, sessionTag: sessionTagOf(turn) };
  const isSandboxed = sandboxes(support, policy);
  // A profile of macOS protects a path by its name, and needs no watch.
  const guards = createGuardWatch(
    isGuarded && support.tier === "namespaces" ? mountedGuards(policy, { project, directory, home, env: ctx.env }) : [],
  );
  return { support, rules: isSandboxed ? rules : null, info: describeSandbox(rules, policy, isSandboxed), guards };
}

/** Paths that get a placeholder if they are missing: else a tool could create them, with hooks or settings in them. */
function missingPaths({ paths: { home }, env }: AppContext, { policy, project, directory }: SandboxedTurn): NamedPaths {
  const writable = writablePaths(policy, { project, directory, home, env });
  const { hooks, includes } = configuredPaths({ writable, allowed: policy.allowWrite, home, env });
  return { hooks: [...hooks, ...(isTooBroad(project, home) ? [] : [join(project, ".skein")])], includes };
}

/** Policy `full` with the sandbox switched off uses nothing that the machine supports. */
function supportFor({ name, sandbox }: Policy, support: SandboxSupport): SandboxSupport {
  return name === "full" && sandbox === "off" ? { ...support, tier: "none", processes: "no" } : support;
}

/** Whether a turn with this policy runs in a sandbox. */
function sandboxes({ tier }: SandboxSupport, policy: Policy): boolean {
  return policy.name !== "full" && tier !== "none";
}

function sessionTagOf({ root, nesting }: SandboxedTurn): SessionTag {
  return { session: root, nesting };
}

/** An editor replaces the plan by a new file. A turn that may write the plan then needs a new sandbox. */
function planKey({ policy, project }: SandboxedTurn): number {
  return policy.name === "plan" || policy.name === "workspace" ? (statSync(planFilePath(project), { throwIfNoEntry: false })?.ino ?? 0) : 0;
}

/** The directories stay for the session's next turn; unused ones are removed after a week. Each executor has its own `copies`. */
function makeTemp(
  ctx: AppContext,
  { root, policy, project, directory }: SandboxedTurn,
  cleanups: Cleanup[],
): { temp: string; copies: string } {
  const tempRoot = join(ctx.paths.data, "tmp");
  const parent = ctx.ephemeral ? createScratchDirectory(ctx.paths.data) : join(tempRoot, root);
  cleanups.push(() => (ctx.ephemeral ? removeTemp(parent) : makeAccessible(parent)));
  const temp = join(parent, "files");
  const copies = join(parent, "copies", Bun.hash(JSON.stringify([policy, project, directory])).toString(16));
  for (const path of [temp, copies]) mkdirSync(path, { recursive: true, mode: 0o700 });
  utimesSync(temp, new Date(), new Date());
  if (!ctx.ephemeral) setTimeout(() => removeOldTemps(tempRoot), 0).unref();
  return { temp: realpathSync(temp), copies: realpathSync(copies) };
}

function removeOldTemps(tempRoot: string): void {
  for (const name of readdirSync(tempRoot)) {
    const directory = join(tempRoot, name);
    const usedAt = statSync(join(directory, "files"), { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - usedAt > maxTempAgeMs) removeTemp(directory);
  }
}

function removeTemp(directory: string): void {
  try {
    makeAccessible(directory);
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // The next call of `removeOldTemps` tries again.
  }
}

/** overlayfs leaves work directories without permissions, which could not be deleted. */
function makeAccessible(directory: string): void {
  // A tool may have left links, which must not be followed.
  const isDirectory = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const below = (path: string) => (isDirectory(path) ? readdirSync(path).map((name) => join(path, name)) : []);
  const works = below(join(directory, "copies"))
    .flatMap(below)
    // A file is beside the overlays, and Bun throws for a path below a file.
    .filter(isDirectory)
    .flatMap((overlay) => below(join(overlay, "work")));
  for (const work of works.filter(isDirectory)) chmodSync(work, 0o700);
}
