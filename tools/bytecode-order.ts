// Records the functions that skein uses in a run, one file for skein and one for its executor. `tools/build.ts` puts
// their bytecode together, so that a run has only those pages in memory.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../src/scripted-model/model-server.ts";
import { shellScript } from "../src/scripted-model/script.ts";
import { startExecutor } from "../src/executor/client.ts";

const commands = ["echo one", "seq 100000", "exit 3"];

/** Writes into `directory`. Returns the files, the most important first. */
export async function recordOrder(program: string, directory: string): Promise<string[]> {
  return [await recordRun(program, directory), await recordExecutor(program, directory)];
}

async function recordRun(program: string, directory: string): Promise<string> {
  const order = join(directory, "run.order");
  const project = join(directory, "project");
  mkdirSync(project);
  const server = startModelServer(shellScript(commands));
  try {
    const args = ["run", "Run the commands.", "-m", "anthropic/claude-sonnet-4-5", "--sandbox", "auto", "--output-format", "json"];
    const child = Bun.spawn([program, ...args], {
      cwd: project,
      env: {
        PATH: process.env.PATH,
        HOME: directory,
        SKEIN_HOME: join(directory, "skein"),
        ANTHROPIC_BASE_URL: server.url,
        ANTHROPIC_API_KEY: "none",
        BUN_BYTECODE_ORDER_OUT: order,
      },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
      timeout: 60_000,
    });
    if ((await child.exited) !== 0) throw new Error("the recorded run of the build failed");
    return order;
  } finally {
    await server.stop();
  }
}

/** Without a sandbox, which would prevent it from writing its record. */
async function recordExecutor(program: string, directory: string): Promise<string> {
  const order = join(directory, "executor.order");
  const command = ["env", `BUN_BYTECODE_ORDER_OUT=${order}`, program, "__executor"];
  const executor = startExecutor({ command, env: process.env, cwd: directory });
  const { signal } = new AbortController();
  for (const line of commands) {
    const context = { session: "build", turn: "build", cwd: directory, env: {}, signal, onOutput: () => {} };
    await executor.callTool("bash", { command: line }, context);
  }
  await executor.close();
  return order;
}
