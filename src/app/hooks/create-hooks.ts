// The user's hooks: starts them in the background, and waits for them when the app closes. Loads nothing more until the
// first hook runs.
import { lazy } from "../../kit/flow/lazy.ts";
import { messageOf } from "../../protocol/api/error.ts";
import type { HookEvent, HookName } from "../../protocol/hooks/hook-event.ts";
import type { AppContext } from "../app-context.ts";

export type Hooks = {
  /** Returns at once. A failure is a warning, once for each hook. */
  run: (event: HookEvent) => void;
  /** Resolves when all hooks have ended. Each ends by its time limit. */
  settle: () => Promise<void>;
};

/** Hooks that hang must not use up the processes of the user. */
const maxRunning = 8;
const maxQueued = 100;

/** The command or URL of each hook; null if it is not configured. */
export function hookTargets({ config }: AppContext): Record<HookName, string | readonly string[] | null> {
  const { hookTurnEnded, hookAskOpened, hookTurnWaiting } = config.values;
  return { turn_ended: hookTurnEnded, ask_opened: hookAskOpened, turn_waiting: hookTurnWaiting };
}

/** Null if no hook is configured. */
export function createHooks(ctx: AppContext): Hooks | null {
  const targets = hookTargets(ctx);
  if (Object.values(targets).every((target) => target === null)) return null;
  const runner = lazy(async () => (await import("./run-hook.ts")).createHookRunner(ctx));
  const queue: HookEvent[] = [];
  const failed = new Set<HookName>();
  const running = new Set<Promise<void>>();
  const report = (name: HookName, problem: string) => {
    if (!failed.has(name)) ctx.warn(`the hook ${name} ${problem}; further failures of it are not reported`);
    failed.add(name);
  };
  const runOne = async (event: HookEvent): Promise<void> => {
    const { type } = event;
    try {
      const problem = await runner.run(event, targets[type]!);
      if (problem !== null) report(type, problem);
    } catch (error) {
      report(type, `failed: ${messageOf(error)}`);
    }
  };
  const start = (event: HookEvent): void => {
    const task = runOne(event).finally(() => {
      running.delete(task);
      const next = queue.shift();
      if (next !== undefined) start(next);
    });
    running.add(task);
  };
  return {
    run: (event) => {
      if (targets[event.type] === null) return;
      if (running.size < maxRunning) start(event);
      else if (queue.length < maxQueued) queue.push(event);
      else report(event.type, `was not run: ${maxRunning} hooks run and ${maxQueued} wait already`);
    },
    settle: async () => {
      // Nothing that waits is started now: the exit must not take several time limits.
      queue.length = 0;
      await Promise.all(running);
    },
  };
}
