// Runs one command of a tier. It prints one line if the command succeeds, and the whole output if it fails, so that the
// outputs of parallel commands do not mix.
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endFamily } from "../../src/kit/process/processes.ts";

export type Command = {
  name: string;
  argv: string[];
  /** True for `bun test`: the command must print sums, and at least one test must pass. */
  isTest: boolean;
};

export type CommandResult = { name: string; isOk: boolean; passed: number; failed: number };

export type CommandContext = {
  cwd: string;
  env: Record<string, string | undefined>;
  /** A command that runs longer is ended with its process group, and has failed. */
  limitMs: number;
  print: (text: string) => void;
};

const running = new Set<number>();
let isEnding = false;

/** Never rejects for a command that fails. Starts nothing and never resolves after `endRunningCommands`: the process is about to exit. */
export async function runCommand({ name, argv, isTest }: Command, { cwd, env, limitMs, print }: CommandContext): Promise<CommandResult> {
  if (isEnding) return new Promise(() => {});
  const startedAt = performance.now();
  const { output, exitCode, isOverLimit } = await collectOutput(argv, { cwd, env, limitMs });
  const count = (word: string) => Number(new RegExp(`^ *(\\d+) ${word}$`, "m").exec(output)?.[1] ?? 0);
  const [passed, failed, skipped] = isTest ? [count("pass"), count("fail"), count("skip") + count("todo")] : [0, 0, 0];
  const isOk = exitCode === 0 && !isOverLimit && (!isTest || (passed > 0 && failed === 0 && skipped === 0));
  const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  const reason = isOverLimit ? `, ended after its limit of ${limitMs / 1000} s` : "";
  const line = isTest
    ? `${name}: ${passed} pass, ${failed} fail, ${skipped} skipped, ${seconds}${reason}`
    : `${name}: ${isOk ? "ok" : "failed"}, ${seconds}${reason}`;
  print(isOk ? `${line}\n` : `${output}\n✗ ${line}\n`);
  // A file that ends without sums, for example because it was killed, still counts as one failure.
  return { name, isOk, passed, failed: isTest && !isOk ? Math.max(failed, 1) : failed };
}

/** Ends all running commands. Each is the leader of its own process group, so Ctrl+C does not reach it. */
export async function endRunningCommands(): Promise<void> {
  isEnding = true;
  await Promise.all([...running].map((root) => endFamily({ root, envTag: null }, 0)));
}

type Ended = { output: string; exitCode: number; isOverLimit: boolean };

/** The output goes to a file: a pipe would stay open as long as any descendant holds it. */
async function collectOutput(argv: string[], { cwd, env, limitMs }: Omit<CommandContext, "print">): Promise<Ended> {
  const dir = mkdtempSync(join(tmpdir(), "skein-check-"));
  const path = join(dir, "output");
  const file = openSync(path, "a");
  try {
    const child = Bun.spawn(argv, { cwd, env, stdin: "ignore", stdout: file, stderr: file, detached: true });
    running.add(child.pid);
    let ending: Promise<number[]> | null = null;
    const timer = setTimeout(() => {
      ending = endFamily({ root: child.pid, envTag: null }, 0);
    }, limitMs);
    const exitCode = await child.exited;
    clearTimeout(timer);
    await ending;
    running.delete(child.pid);
    return { output: readFileSync(path, "utf8"), exitCode, isOverLimit: ending !== null };
  } finally {
    closeSync(file);
    rmSync(dir, { recursive: true, force: true });
  }
}
