// The loop's side of the wire: starts the executor (inside the sandbox, when the command says so), sends calls and
// settles each of them, whatever happens to that process. It runs no tool itself.
import { Fault } from "../protocol/api/error.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import type { Executor, ToolCallOptions, ToolOutcome } from "../protocol/api/ports.ts";
import { PauseGate, type Pausable } from "../kit/flow/pause-gate.ts";
import { endFamily } from "../kit/process/processes.ts";
import { ExecutorConnection } from "./connection.ts";
import { toolEnvironment } from "./environment.ts";
import { callTag, type ExecutorTag, newExecutorTag } from "./call-tag.ts";
import { definitions } from "./tools/definitions.ts";
import type { CallRequest } from "./frames.ts";

export type ExecutorOptions = {
  /** The program that calls `serveExecutor`, behind whatever launcher sets up its walls. */
  command: string[];
  /** The user's environment; only what tools may see is passed on. */
  env: Record<string, string | undefined>;
  cwd: string;
  /** The same that the command carries for the executor: its own environment must not hold more than its tools'. */
  sandbox?: SandboxInfo | null;
  /** The session that all others in here work for: where it stands still, everything does. */
  root?: string;
  readyMs?: number;
};

/** `ready` rejects with `sandbox-unavailable` when the process ends or stays silent instead of getting ready. */
export function startExecutor(start: ExecutorOptions): Executor & { ready: Promise<void> } {
  let isClosed = false;
  let calls = 0;
  let swept: Promise<unknown> = Promise.resolve();

  const { command, cwd, readyMs = 10_000 } = start;
  const env = toolEnvironment(start.env, start.sandbox ?? null);

  const open = (): { connection: ExecutorConnection; mark: ExecutorTag } => {
    const connection = new ExecutorConnection({ command, env, cwd, readyMs });
    const mark = newExecutorTag();
    // What an executor leaves when it does not end by itself is found by its mark.
    swept = connection.ended.then(({ isClean }) => (isClean ? [] : endFamily({ root: null, envTag: mark.beginning }, 0)));
    return { connection, mark };
  };
  let current = open();
  const gates = new Map<string, PauseGate>();
  const gateOf = (session: string): PauseGate => {
    const gate = gates.get(session) ?? new PauseGate();
    gates.set(session, gate);
    return gate;
  };
  /** What a session left in the background stands still too: one part for the whole of a turn. */
  const partOf = (session: string): Pausable => {
    const told = session === start.root ? null : session;
    const stop = (): void => {
      gateOf(session).pause();
      current.connection.tell("stop", told);
    };
    const go = (): void => {
      current.connection.tell("go", told);
      gateOf(session).resume();
    };
    return { pause: stop, resume: go };
  };
  const known = new WeakSet<NonNullable<ToolCallOptions["pausable"]>>();
  const register = ({ pausable, session }: ToolCallOptions): void => {
    if (pausable === undefined || known.has(pausable)) return;
    known.add(pausable);
    pausable(partOf(session));
  };

  const callTool = async (name: string, input: Record<string, unknown>, options: ToolCallOptions): Promise<ToolOutcome> => {
    register(options);
    await gateOf(options.session).whenOpen();
    if (options.signal.aborted) return { text: "cancelled before it ran", isError: true };
    if (isClosed) throw new Fault("executor-gone", "the executor is closed");
    if (current.connection.isGone) current = open();
    const { connection, mark } = current;
    await connection.ready;
    const call = (calls += 1);
    const own = callTag(mark, call);
    const { session, turn, cwd, env } = options;
    const request: CallRequest = { call, name, input, session, turn, cwd, env: { ...env, ...own.env }, envTag: own.entry };
    return connection.call(request, options);
  };

  return {
    ready: current.connection.ready,
    listTools: async () => Object.values(definitions),
    callTool,
    close: async () => {
      isClosed = true;
      await current.connection.close();
      await swept;
    },
  };
}
