// Executors by what they may do: one for each policy, project and topmost session, started on first use inside the
// walls that this machine can hold.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxRequest } from "../../agents/external/turn/external-agent.ts";
import { startExecutor } from "../../executor/client.ts";
import type { AppContext } from "../app-context.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { EnforcedPolicy, Policy, SessionTag } from "../../protocol/api/policy.ts";
import type { Executor, TurnInput } from "../../protocol/api/ports.ts";
import { enforcedPolicy, type SandboxSupport, sandboxCommand } from "../../sandbox/sandbox-command.ts";
import {
  describeSandbox,
  sortByDepth,
  isTooBroad,
  planFilePath,
  type PathRule,
  type SandboxRules,
  createSandboxRules,
} from "../../sandbox/rules.ts";
import { sessionTagVariables } from "../../sandbox/enclosing-session.ts";
import { version } from "../../version.ts";
import { holdGitPlaceholders } from "./git-placeholders.ts";
import { createExecutorPool } from "./executor-pool.ts";

export type ExecutorProvider = {
  /** What is held for such a turn. Throws where walls are required and there are none. */
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
  /** For a turn whose `enforced` was asked for. */
  get: (turn: SandboxedTurn) => Executor;
  /** The words that start another program behind the walls of such a turn, and what its environment gains. */
  sandboxCommand: (turn: SandboxedTurn, request: SandboxRequest) => { command: string[]; env: Record<string, string> };
  /** What stands around such a turn. */
  sandboxStatus: (turn: SandboxedTurn) => { isWalled: boolean; hasOwnNetwork: boolean };
  /** A new directory that goes in the end, with all that is in it. */
  createScratchDirectory: () => string;
  close: () => Promise<void>;
};

export type SandboxedTurn = Pick<TurnInput, "root" | "directory" | "project" | "policy" | "nesting">;

type Cleanup = () => void;

/** What is in use by then stays. */
function tryTo(act: Cleanup): void {
  try {
    act();
  } catch {
    // A directory that is not empty any more.
  }
}

const keptMs = 7 * 24 * 3_600_000;

export function createExecutors(ctx: AppContext): ExecutorProvider {
  const kept = createExecutorPool((root) => ctx.processContext.running.get(root) !== undefined);
  const atEnd: Cleanup[] = [];
  let found: SandboxSupport | null = null;

  const machineFor = async ({ name, sandbox }: Policy): Promise<SandboxSupport> => {
    found ??= await loadSandboxSupport(ctx);
    return name === "full" && sandbox === "off" ? { ...found, tier: "none", processes: "no" } : found;
  };
  const known = (): SandboxSupport => {
    if (found === null) throw new Fault("internal", "the walls were not asked for first");
    return found;
  };
  const start = (turn: SandboxedTurn): Executor => {
    const { machine, walls, bounds } = sandboxFor(ctx, turn, known(), atEnd);
    const inner = [...ctx.selfCommand, "__executor", JSON.stringify(bounds)];
    const command = sandboxCommand({ command: inner, cwd: turn.directory, rules: walls, support: machine, selfCommand: ctx.selfCommand });
    const executor = startExecutor({ command, env: ctx.env, cwd: turn.directory, sandbox: bounds, root: turn.root });
    // What held when it was tried does not hold any more: it is tried out again the next time.
    executor.ready.catch(() => rmSync(machineFile(ctx), { force: true }));
    return executor;
  };
  return {
    enforced: async (policy) => required(enforcedPolicy(await machineFor(policy), policy), policy, found),
    get: (turn) => {
      const key = JSON.stringify([turn.root, turn.project, turn.directory, turn.policy, turn.nesting, planKey(turn)]);
      return kept.get(key, turn.root, () => start(turn));
    },
    sandboxCommand: (turn, wish) => sandboxCommandFor(ctx, turn, known(), wish, atEnd),
    sandboxStatus: ({ policy }) => {
      const { tier } = known();
      const isWalled = policy.name !== "full" && tier !== "none";
      return { isWalled, hasOwnNetwork: isWalled && tier === "namespaces" && policy.net === "off" };
    },
    createScratchDirectory: () => {
      const folder = mkdtempSync(join(tmpdir(), "skein-"));
      atEnd.push(() => removeTemp(folder));
      return folder;
    },
    close: async () => {
      await kept.close();
      for (const cleanUp of atEnd) tryTo(cleanUp);
    },
  };
}

/** In a namespace of processes the first one must take care of orphans, which no agent's CLI does. */
const keeper = ["/bin/sh", "-c", '"$@"; exit $?', "sh"];

function sandboxCommandFor(ctx: AppContext, turn: SandboxedTurn, found: SandboxSupport, request: SandboxRequest, atEnd: Cleanup[]) {
  const { machine, walls, bounds } = sandboxFor(ctx, turn, found, atEnd);
  const more = (access: PathRule["access"], paths: string[]) => paths.map((path) => ({ path: realpathSync(path), access }));
  const wider: SandboxRules | null =
    walls === null
      ? null
      : {
          ...walls,
          rules: sortByDepth([...walls.rules, ...more("read", request.readable), ...more("write", request.writable)]),
          ...(request.port === null ? {} : { port: request.port }),
        };
  const inner = machine.processes === "no" ? request.command : [...keeper, ...request.command];
  const command = sandboxCommand({ command: inner, cwd: turn.directory, rules: wider, support: machine, selfCommand: ctx.selfCommand });
  return { command, env: { TMPDIR: bounds.temp, ...sessionTagVariables(sessionTagOf(turn)) } };
}

/** From what was found out since this machine started, or by trying. */
export async function loadSandboxSupport(ctx: AppContext, { anew = false } = {}): Promise<SandboxSupport> {
  const best = ctx.env["SKEIN_SANDBOX_BEST"] as SandboxSupport["tier"] | undefined;
  const { machineKey, probeSandbox: probeMachine } = await import("../../sandbox/probe.ts");
  const key = `${machineKey(version)} ${best ?? ""} ${ctx.selfCommand.join(" ")}`;
  const kept = anew ? null : readMachine(ctx, key);
  if (kept !== null) return kept;
  const machine = await probeMachine({
    selfCommand: ctx.selfCommand,
    path: ctx.env["PATH"] ?? "",
    ...(best === undefined ? {} : { best }),
  });
  if (!ctx.ephemeral) keepMachine(ctx, key, machine);
  return machine;
}

function required(enforced: EnforcedPolicy, policy: Policy, support: SandboxSupport | null): EnforcedPolicy {
  if (policy.sandbox !== "required" || policy.name === "full" || enforced.fs) return enforced;
  const hint = support?.hint ?? "run skein doctor to see what this machine can enforce";
  throw new Fault("sandbox-unavailable", `policy ${policy.name} can't be enforced here: ${support?.why ?? "there are no walls"}`, {
    hint: `${hint}; or go without walls: --policy workspace --sandbox auto`,
  });
}

function sandboxFor(ctx: AppContext, turn: SandboxedTurn, support: SandboxSupport, atEnd: Cleanup[]) {
  const { policy, project, directory } = turn;
  const machine: SandboxSupport =
    policy.name === "full" && policy.sandbox === "off" ? { ...support, tier: "none", processes: "no" } : support;
  const { temp, copies } = makeTemp(ctx, turn, atEnd);
  const canGuard = policy.name === "workspace" && (machine.tier === "namespaces" || machine.tier === "seatbelt");
  const written = canGuard ? [project, directory, ...policy.addDirs, ...policy.allowWrite] : [];
  for (const place of written) atEnd.push(holdGitPlaceholders(ctx.paths.state, place));
  if (written.length > 0 && !isTooBroad(project, ctx.paths.home)) holdDirectory(join(project, ".skein"), atEnd);
  const { home, config, data, state, cache } = ctx.paths;
  const own = { config, data, state, cache };
  const isRoot = process.getuid?.() === 0;
  const { env } = ctx;
  const open = createSandboxRules(policy, {
    project,
    directory,
    home,
    own,
    temp,
    copies,
    isRoot,
    env,
    unixSockets: ctx.config.values.unixSockets,
  });
  const rules: SandboxRules = { ...open, sessionTag: sessionTagOf(turn) };
  const isWalled = policy.name !== "full" && machine.tier !== "none";
  return { machine, walls: isWalled ? rules : null, bounds: describeSandbox(rules, policy, isWalled) };
}

function sessionTagOf({ root, nesting }: SandboxedTurn): SessionTag {
  return { session: root, nesting };
}

/** Only what exists can be guarded: without it a tool could make it, with a config inside. */
function holdDirectory(folder: string, atEnd: Cleanup[]): void {
  try {
    mkdirSync(folder);
    atEnd.push(() => rmdirSync(folder));
  } catch {
    // It is there, or nobody can make it.
  }
}

/** A plan that an editor has replaced is another file: who may write it, to plan or to tick its steps, needs walls of its own. */
function planKey({ policy, project }: SandboxedTurn): number {
  return policy.name === "plan" || policy.name === "workspace" ? (statSync(planFilePath(project), { throwIfNoEntry: false })?.ino ?? 0) : 0;
}

/** Kept for the session's next turn; what nobody has used for a week goes. Two executors can't share the copies. */
function makeTemp(
  ctx: AppContext,
  { root, policy, project, directory }: SandboxedTurn,
  atEnd: Cleanup[],
): { temp: string; copies: string } {
  const all = join(ctx.paths.data, "tmp");
  const folder = ctx.ephemeral ? mkdtempSync(join(tmpdir(), "skein-")) : join(all, root);
  atEnd.push(() => (ctx.ephemeral ? removeTemp(folder) : openUp(folder)));
  const [temp, copies] = [
    join(folder, "files"),
    join(folder, "copies", Bun.hash(JSON.stringify([policy, project, directory])).toString(16)),
  ] as const;
  for (const path of [temp, copies]) mkdirSync(path, { recursive: true, mode: 0o700 });
  utimesSync(temp, new Date(), new Date());
  if (!ctx.ephemeral) setTimeout(() => sweep(all), 0).unref();
  return { temp: realpathSync(temp), copies: realpathSync(copies) };
}

function sweep(all: string): void {
  for (const name of readdirSync(all)) {
    const folder = join(all, name);
    const usedAt = statSync(join(folder, "files"), { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - usedAt > keptMs) removeTemp(folder);
  }
}

function removeTemp(folder: string): void {
  try {
    openUp(folder);
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Left for the next time.
  }
}

/** The kernel leaves directories in there that their owner can't open, and so could not delete. */
function openUp(folder: string): void {
  for (const path of new Bun.Glob("copies/*/*/work/*").scanSync({ cwd: folder, onlyFiles: false, dot: true }))
    chmodSync(join(folder, path), 0o700);
}

function machineFile({ paths }: AppContext): string {
  return join(paths.state, "sandbox.json");
}

function readMachine(ctx: AppContext, key: string): SandboxSupport | null {
  try {
    const kept = JSON.parse(readFileSync(machineFile(ctx), "utf8")) as { key: string; machine: SandboxSupport };
    return kept.key === key ? kept.machine : null;
  } catch {
    return null;
  }
}

function keepMachine(ctx: AppContext, key: string, support: SandboxSupport): void {
  try {
    mkdirSync(ctx.paths.state, { recursive: true, mode: 0o700 });
    writeFileSync(machineFile(ctx), `${JSON.stringify({ key, machine: support })}\n`, { mode: 0o600 });
  } catch {
    // Then it is found out again the next time.
  }
}
