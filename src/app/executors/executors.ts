// Provides executors: one for each policy, project and topmost session, started at its first use in the sandbox that this
// machine supports. Also provides the sandbox command for external CLIs, and git for skein itself.
import { statSync } from "node:fs";
import type { SandboxedCommand, SandboxRequest } from "../../agents/external/turn/external-agent.ts";
import type { GitRunner } from "../../files/git.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { EnforcedPolicy, Policy } from "../../protocol/api/policy.ts";
import type { Executor } from "../../protocol/api/ports.ts";
import { planFilePath } from "../../protocol/tree/skein-directory.ts";
import { enforcedPolicy } from "../../sandbox/enforced-policy.ts";
import type { SandboxCommand, SandboxSupport } from "../../sandbox/sandbox-command.ts";
import type { AppContext } from "../app-context.ts";
import type { ContainedGit } from "./contained-git.ts";
import { createExecutorPool, executorOf } from "./executor-pool.ts";
import { guardExecutor } from "./guard-watch.ts";
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
import { forgetSandboxSupport, loadSandboxSupport } from "./sandbox-support.ts";
import { createScratchDirectory, removePrivateDirectory, removeScratchLeftovers } from "./scratch-directory.ts";
import type { Cleanup } from "./turn-sandbox.ts";

export type ExecutorProvider = {
  /** Returns what this machine enforces for the policy. Throws if the policy requires a sandbox and there is none. */
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
  /**
   * Throws if the project's `.git` or `.skein` is a link, or if tools could change skein's own directories. The start of a
   * sandbox also looks for links in the paths that git's settings name, which takes longer. Call `enforced` first.
   */
  refuseLinks: (turn: Pick<SandboxedTurn, "project" | "directory" | "policy">) => void;
  /** `enforced` must have been called before. */
  get: (turn: SandboxedTurn) => Executor;
  /** An executor for one program of the turn. The session's tools can't read the memory and environment of its processes. */
  getOwn: (turn: SandboxedTurn, program: string) => Executor;
  /** Ends the executor of a program with all its processes. */
  endOwn: (turn: SandboxedTurn, program: string) => Promise<void>;
  /** Ends the executors of a topmost session, with all processes that their commands left running. */
  endAll: (root: string) => Promise<void>;
  /** Null before the first call of `enforced`. */
  support: () => SandboxSupport | null;
  /** The command that starts another program in the turn's sandbox. */
  sandboxCommand: (turn: SandboxedTurn, request: SandboxRequest) => Promise<SandboxedCommand>;
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
  /** Resolves when git is idle: the snapshot of a stopped turn must still be recorded. */
  settle: () => Promise<void>;
  close: () => Promise<void>;
};

/** Loaded after the first request, because a sandbox is built while the model answers. */
const loadTurnSandbox = () => import("./turn-sandbox.ts");

export function createExecutors(ctx: AppContext): ExecutorProvider {
  const pool = createExecutorPool((root) => ctx.processContext.running.get(root) !== undefined);
  const cleanups: Cleanup[] = [];
  let support: SandboxSupport | null = null;
  let containedGit: ContainedGit | null = null;

  const requireSupport = (): SandboxSupport => {
    if (support === null) throw new Fault("internal", "the sandbox was not checked before use");
    return support;
  };
  const get = (turn: SandboxedTurn): Executor => getByKey(turn, JSON.stringify([...keyOf(turn), planKey(turn)]));
  const getByKey = (turn: SandboxedTurn, key: string): Executor => pool.get(key, turn.root, () => start(turn, key));
  const start = (turn: SandboxedTurn, key: string): Executor => {
    const started = startLoaded(turn, key);
    // The call of a tool gets the error. The next `get` tries again.
    started.catch(() => void drop(key));
    return executorOf(started);
  };
  // An executor that failed to start also fails to close. The call of a tool has got the error.
  const drop = (key: string): Promise<void> => pool.drop(key).catch(() => undefined);
  const startLoaded = async (turn: SandboxedTurn, key: string): Promise<Executor> => {
    const { startTurnExecutor } = await loadTurnSandbox();
    const { executor, guards } = await startTurnExecutor(ctx, turn, { support: requireSupport(), cleanups, program: programOf(key) });
    // The cached probe result is wrong, so the next start probes again.
    executor.ready.catch(() => forgetSandboxSupport(ctx));
    return guardExecutor(executor, guards, {
      drop: () => void drop(key),
      next: () => (programOf(key) === undefined ? get(turn) : getByKey(turn, key)),
    });
  };
  const createScratch = (): string => {
    const directory = createScratchDirectory(ctx.paths.data);
    cleanups.push(() => removePrivateDirectory(directory));
    return directory;
  };
  return {
    enforced: async (policy) => {
      support ??= await loadSandboxSupport(ctx);
      return requireSandbox(enforcedPolicy(supportFor(policy, support), policy), policy, support);
    },
    refuseLinks: (turn) => checkLinks(ctx, turn, requireSupport()),
    get,
    getOwn: (turn, program) => getByKey(turn, ownKey(turn, program)),
    endOwn: (turn, program) => drop(ownKey(turn, program)),
    endAll: (root) => pool.dropAll(root),
    support: () => support,
    sandboxCommand: async (turn, request) =>
      (await loadTurnSandbox()).turnSandboxCommand(ctx, turn, request, { support: requireSupport(), cleanups }),
    sandboxStatus: ({ policy }) => statusOf(requireSupport(), policy),
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
    settle: async () => containedGit?.settle(),
    close: async () => {
      containedGit?.close();
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

function statusOf(support: SandboxSupport, policy: Policy): { isSandboxed: boolean; hasOwnNetwork: boolean } {
  const isSandboxed = sandboxes(support, policy);
  return { isSandboxed, hasOwnNetwork: isSandboxed && support.tier === "namespaces" && policy.net === "off" };
}

function keyOf(turn: SandboxedTurn): unknown[] {
  return [turn.root, turn.project, turn.directory, turn.policy, turn.nesting, memberTag(turn)];
}

const ownKeyPrefix = "own:";

function ownKey(turn: SandboxedTurn, program: string): string {
  return ownKeyPrefix + JSON.stringify([...keyOf(turn), program]);
}

/** The executor of one program is named by its key; that of the tools has no name. */
function programOf(key: string): string | undefined {
  return key.startsWith(ownKeyPrefix) ? key : undefined;
}

function checkLinks(ctx: AppContext, turn: Parameters<ExecutorProvider["refuseLinks"]>[0], support: SandboxSupport): void {
  if (!sandboxes(support, turn.policy)) return;
  const resolved = resolveTurn(turn, ctx.paths.state);
  protectOwnDirectories(ctx, resolved, support);
  if (canProtectPaths(turn.policy, support)) refuseLinks(protectionOf(ctx, resolved));
}

function requireSandbox(enforced: EnforcedPolicy, policy: Policy, support: SandboxSupport | null): EnforcedPolicy {
  if (policy.sandbox !== "required" || policy.name === "full" || enforced.fs) return enforced;
  const hint = support?.hint ?? "run skein doctor to see what this machine can enforce";
  throw new Fault("sandbox-unavailable", `policy ${policy.name} can't be enforced here: ${support?.why ?? "this machine has no sandbox"}`, {
    hint: `${hint}; or run without a sandbox: --policy workspace --sandbox auto`,
  });
}

/** An editor replaces the plan by a new file. A turn that may write the plan then needs a new sandbox. */
function planKey({ policy, project }: SandboxedTurn): number {
  return policy.name === "plan" || policy.name === "workspace" ? (statSync(planFilePath(project), { throwIfNoEntry: false })?.ino ?? 0) : 0;
}
