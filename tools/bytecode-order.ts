// Records the functions that skein uses, one file for a run, one for its executor and one for the screen.
// `tools/build.ts` puts their bytecode together, so that a process has only those pages in memory.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../src/scripted-model/model-server.ts";
import { shellScript } from "../src/scripted-model/script.ts";
import { startExecutor } from "../src/executor/client.ts";

const commands = ["echo one", "seq 100000", "exit 3"];

/**
 * Writes into `directory`. Returns the files, the most important first. The executor uses few functions of its own, so it is
 * first. The second run is like most runs, because it knows what the sandbox of this machine can do.
 */
export async function recordOrder(program: string, directory: string): Promise<string[]> {
  const project = join(directory, "project");
  mkdirSync(project);
  // Most projects are git repositories, which need other functions.
  if ((await Bun.spawn(["git", "init", "-q", project]).exited) !== 0) throw new Error("git can't make the recorded project");
  const server = startModelServer(shellScript(commands));
  const env = {
    PATH: process.env.PATH,
    HOME: directory,
    SKEIN_HOME: join(directory, "skein"),
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: "none",
    TERM: "xterm-256color",
  };
  const options = { program, directory, project, env };
  try {
    const first = await recordRun(options, "first.order");
    const run = await recordRun(options, "run.order");
    return [await recordExecutor(options), run, first, await recordScreen(options)];
  } finally {
    await server.stop();
  }
}

type RecordOptions = { program: string; directory: string; project: string; env: Record<string, string | undefined> };

const modelFlags = ["-m", "anthropic/claude-sonnet-4-5", "--sandbox", "auto"];
const timeoutMs = 60_000;

async function recordRun({ program, directory, project, env }: RecordOptions, name: string): Promise<string> {
  const order = join(directory, name);
  const child = Bun.spawn([program, "run", "Run the commands.", ...modelFlags, "--output-format", "json"], {
    cwd: project,
    env: { ...env, BUN_BYTECODE_ORDER_OUT: order },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
    timeout: timeoutMs,
  });
  if ((await child.exited) !== 0) throw new Error("the recorded run of the build failed");
  return order;
}

/** Without a sandbox, which would prevent it from writing its record. */
async function recordExecutor({ program, directory }: RecordOptions): Promise<string> {
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

/** Opens the session of the recorded run, sends a message and leaves. */
async function recordScreen({ program, directory, project, env }: RecordOptions): Promise<string> {
  const order = join(directory, "screen.order");
  const steps = [
    { after: "ok · ", keys: "Again.\r" },
    // The title changes when the turn starts, and back when it ends.
    { after: "· idle\x07", keys: "/quit\r" },
  ];
  const decoder = new TextDecoder();
  let output = "";
  const child = Bun.spawn([program, "tui", "--continue", ...modelFlags], {
    cwd: project,
    env: { ...env, BUN_BYTECODE_ORDER_OUT: order },
    timeout: timeoutMs,
    terminal: {
      cols: 120,
      rows: 40,
      data(terminal, bytes) {
        output += decoder.decode(bytes, { stream: true });
        const [step] = steps;
        if (step === undefined || !output.includes(step.after)) return;
        steps.shift();
        output = "";
        terminal.write(step.keys);
      },
    },
  });
  if ((await child.exited) !== 0) throw new Error(`the recorded screen of the build failed: ${Bun.stripANSI(output).slice(-500)}`);
  return order;
}
