// Runs commands with the real contained git of skein, as one user and in one tier. Reads them as JSON from its argument
// and prints one JSON result for each.
import { createAppContext } from "../../../src/app/app-context.ts";
import { createExecutors } from "../../../src/app/executors/executors.ts";
import { createProcessContext } from "../../../src/app/process-context.ts";
import type { GitCommand } from "../../../src/files/git.ts";

export type GitProcessRequest = { project: string; selfCommand: string[]; commands: GitCommand[] };
export type GitProcessResult = { code: number | null; out: string; err: string };

const { project, selfCommand, commands } = JSON.parse(process.argv[2]!) as GitProcessRequest;
const processContext = createProcessContext({
  startedAt: Date.now(),
  enclosingSession: () => null,
  address: () => null,
  connect: () => Promise.reject(new Error("there is no other process")),
});
const ctx = createAppContext({
  env: process.env,
  cwd: project,
  startedIn: project,
  ephemeral: false,
  trust: false,
  lenient: true,
  selfCommand,
  version: "test",
  processContext,
  warn: (message) => process.stderr.write(`${message}\n`),
});
const executors = createExecutors(ctx);
for (const command of commands) {
  const { code, out, err } = await executors.git(command);
  process.stdout.write(`${JSON.stringify({ code, out: out.toString(), err } satisfies GitProcessResult)}\n`);
}
await executors.close();
