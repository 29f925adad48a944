// The executor without a process of its own: the same tools behind the same interface, for tests and for work
// that leaves nothing behind. It has no walls; what a policy forbids is not forbidden here.
import type { SandboxInfo } from "../protocol/policy.ts";
import type { Executor } from "../protocol/ports.ts";
import { endFamily, familyMembers } from "../kit/processes.ts";
import { createToolRuntime, runTool } from "./run-tool.ts";
import { callTag, newExecutorTag } from "./mark.ts";
import { Suspension } from "./standstill.ts";
import { definitions } from "./tools/definitions.ts";
import { errorOutcome } from "./tools/tool.ts";

export type InProcessOptions = { env: Record<string, string | undefined>; bounds?: SandboxInfo | null };

export function createInProcessExecutor({ env: userEnv, bounds = null }: InProcessOptions): Executor {
  const mark = newExecutorTag();
  const workshop = createToolRuntime(userEnv, bounds, () => familyMembers({ root: null, mark: mark.beginning }));
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const standstill = new Suspension();
  let calls = 0;

  return {
    listTools: async () => Object.values(definitions),
    callTool: (name, input, { session, cwd, env, signal, pausable, onOutput }) => {
      if (closing.signal.aborted) return Promise.resolve(errorOutcome("the executor is closed"));
      const leaveGate = pausable?.({ stop: () => standstill.stop(session), go: () => standstill.go(session) });
      const own = callTag(mark, (calls += 1));
      const done = runTool(
        {
          name,
          input,
          session,
          cwd,
          env: { ...env, ...own.env },
          mark: own.entry,
          signal: AbortSignal.any([signal, closing.signal]),
          gate: standstill.gateOf(session),
          onOutput,
        },
        workshop,
      );
      running.add(done);
      return done.finally(() => {
        leaveGate?.();
        running.delete(done);
      });
    },
    close: async () => {
      closing.abort();
      standstill.release();
      await Promise.allSettled(running);
      if (calls === 0) return;
      await endFamily({ root: null, mark: mark.beginning }, 0);
    },
  };
}
