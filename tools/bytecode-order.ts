// Which functions skein uses when it does its work, recorded by letting it: `tools/build.ts` puts their bytecode side by
// side, so that a run has only those in memory. One file is for skein itself, one for its executor.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../src/scripted-model/model-server.ts";
import { shellScript } from "../src/scripted-model/script.ts";
import { startExecutor } from "../src/executor/client.ts";

const commands = ["echo one", "seq 100000", "exit 3"];

/** Written into `folder`; the most important comes first. */
export async function recordOrder(program: string, folder: string): Promise<string[]> {
  return [await recordRun(program, folder), await recordExecutor(program, folder)];
}

async function recordRun(program: string, folder: string): Promise<string> {
  const order = join(folder, "run.order");
  const project = join(folder, "project");
  mkdirSync(project);
  const server = startModelServer(shellScript(commands));
  try {
    const words = ["run", "Run the commands.", "-m", "anthropic/claude-sonnet-4-5", "--sandbox", "auto", "--output-format", "json"];
    const child = Bun.spawn([program, ...words], {
      cwd: project,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        SKEIN_HOME: join(folder, "skein"),
        ANTHROPIC_BASE_URL: server.url,
        ANTHROPIC_API_KEY: "none",
        BUN_BYTECODE_ORDER_OUT: order,
      },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
      timeout: 60_000,
    });
    if ((await child.exited) !== 0) throw new Error("the run that is recorded for the build failed");
    return order;
  } finally {
    await server.stop();
  }
}

/** Without walls, which would keep it from writing what it recorded. */
async function recordExecutor(program: string, folder: string): Promise<string> {
  const order = join(folder, "executor.order");
  const command = ["env", `BUN_BYTECODE_ORDER_OUT=${order}`, program, "__executor"];
  const executor = startExecutor({ command, env: process.env, cwd: folder });
  const { signal } = new AbortController();
  for (const line of commands) {
    const place = { session: "build", turn: "build", cwd: folder, env: {}, signal, onOutput: () => {} };
    await executor.callTool("bash", { command: line }, place);
  }
  await executor.close();
  return order;
}
