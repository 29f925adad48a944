// The context of an app in this process, with its directories below `root`, for measurements without a command line.
import { join } from "node:path";
import { type AppContext, createAppContext } from "../src/app/app-context.ts";
import { createProcessContext } from "../src/app/process-context.ts";

/** `selfCommand` starts the built skein, for its executors and launchers. */
export function benchContext(root: string, selfCommand: readonly string[]): AppContext {
  const env = { PATH: "/usr/bin:/bin", HOME: join(root, "home"), SKEIN_HOME: join(root, "skein"), TMPDIR: join(root, "tmp") };
  const processContext = createProcessContext({
    startedAt: Date.now(),
    enclosingSession: () => null,
    address: () => null,
    connect: () => Promise.reject(new Error("no other process")),
  });
  const options = { ephemeral: false, trust: false, lenient: false, version: "bench", warn: console.error };
  return createAppContext({ env, cwd: root, startedIn: root, ...options, selfCommand: [...selfCommand], processContext });
}
