// Creates the command context of the real process: streams, terminal and signals. The entry provides the Api.
import { fstatSync, statSync, write, writeSync } from "node:fs";
import { LiveRegion } from "./live-region.ts";
import { safeForTerminal } from "../../kit/text/terminal-text.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { CommandContext, TextOutput } from "../parse/command.ts";

/** The parts of the context that do not depend on the terminal. `exit` ends the process at once, at the second Ctrl-C. */
type CommandContextDeps = Omit<CommandContext, "env" | "stdin" | "lendTerminal" | "suspend" | "out" | "err" | "writeBytes" | "onStop"> & {
  exit: (code: number) => never;
};

export function createCommandContext({ exit, ...deps }: CommandContextDeps): CommandContext {
  const { env } = process;
  let onStop: ((signal: "SIGINT" | "SIGTERM") => void) | null = null;
  let stopCount = 0;
  let lendCount = 0;
  const handleSignal = (signal: "SIGINT" | "SIGTERM") => {
    if (onStop === null || stopCount++ > 0) return exit(signal === "SIGINT" ? 130 : 143);
    onStop(signal);
  };
  process.on("SIGINT", () => (lendCount > 0 ? undefined : handleSignal("SIGINT")));
  process.on("SIGTERM", () => handleSignal("SIGTERM"));
  const live = createLiveRegion(env);
  return {
    ...deps,
    env,
    stdin: {
      isTty: isTerminal(0),
      text: readStdin,
      async *lines() {
        yield* (await import("./raw-terminal.ts")).stdinLines();
      },
      raw: async (callbacks) => (await import("./raw-terminal.ts")).rawTerminal(callbacks),
    },
    async lendTerminal(act) {
      lendCount += 1;
      try {
        return await act();
      } finally {
        lendCount -= 1;
      }
    },
    async suspend() {
      process.kill(0, "SIGTSTP");
      await Bun.sleep(suspendDelayMs);
    },
    out: createOutput(1, { env, live }, (error) => {
      if (error.code !== "EPIPE") throw new Fault("file-unwritable", `can't write to stdout: ${messageOf(error)}`, { cause: error });
      handleSignal("SIGTERM");
    }),
    // A message that can't be written must not stop the command.
    err: createOutput(2, { env, live }, () => {}),
    writeBytes: (stream, bytes) => writeAllAsync(stream === "stdout" ? 1 : 2, bytes),
    onStop: (callback) => (onStop = callback),
  };
}

/**
 * The kernel needs a moment to suspend all threads, and no other code may run until then. The wait has a limit because the
 * kernel ignores SIGTSTP for a process that has no shell to return to.
 */
const suspendDelayMs = 50;

export function currentDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new Fault("file-unreadable", "the current directory no longer exists", { hint: "cd to an existing one", cause: error });
  }
}

/** Writes synchronously and completely, so that a record is written before anything else happens. */
function createOutput(
  fd: 1 | 2,
  { env, live }: { env: NodeJS.ProcessEnv; live: LiveRegion | null },
  onError: (error: NodeJS.ErrnoException) => void,
): TextOutput {
  const isTty = isTerminal(fd);
  let hasFailed = false;
  return {
    isTty,
    get columns() {
      return (isTty && terminalOf(fd).columns) || 80;
    },
    get rows() {
      return (isTty && terminalOf(fd).rows) || 24;
    },
    color: usesColor(env, isTty),
    ...(isTty && live !== null ? { live } : {}),
    write(text) {
      if (hasFailed) return;
      try {
        if (!isTty) return writeAll(fd, text);
        live?.erase();
        writeAll(fd, safeForTerminal(text));
        live?.afterWrite(text);
      } catch (error) {
        hasFailed = true;
        onError(error as NodeJS.ErrnoException);
      }
    },
  };
}

/** The streams of the process are opened on first use, and only for a terminal. */
function terminalOf(fd: 1 | 2) {
  return fd === 1 ? process.stdout : process.stderr;
}

/** Null without a terminal that can move its cursor. The rows are removed however the process exits, and while it is suspended. */
function createLiveRegion(env: NodeJS.ProcessEnv): LiveRegion | null {
  const fd = isTerminal(2) ? 2 : isTerminal(1) ? 1 : null;
  if (fd === null || ["dumb", "", undefined].includes(env["TERM"])) return null;
  const writeRaw = (text: string): void => {
    try {
      writeAll(fd, text);
    } catch {
      // The terminal is gone. Writing the output itself reports that.
    }
  };
  const suspend = (): void => {
    region.erase();
    process.kill(process.pid, "SIGSTOP");
  };
  const region: LiveRegion = new LiveRegion({
    size: () => ({ columns: terminalOf(fd).columns || 80, rows: terminalOf(fd).rows || 24 }),
    writeRaw,
    every(ms, act) {
      const timer = setInterval(act, ms);
      const stop = (): void => region.stop();
      process.once("exit", stop);
      process.on("SIGTSTP", suspend);
      return () => {
        clearInterval(timer);
        process.off("exit", stop);
        process.off("SIGTSTP", suspend);
      };
    },
  });
  return region;
}

function writeAll(fd: number, text: string): void {
  let bytes: Uint8Array = Buffer.from(text);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(fd, bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Bun.sleepSync(1);
    }
  }
}

/** Resolves with the number of written bytes. `promisify` would load node:util, which each start would pay for. */
function writeAsync(fd: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, null, (error, count) => (error === null ? resolve(count) : reject(error)));
  });
}

/** Waits for a slow reader in another thread, so that signals are still handled. */
async function writeAllAsync(fd: number, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) {
    try {
      rest = rest.subarray(await writeAsync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      await Bun.sleep(1);
    }
  }
}

function usesColor(env: NodeJS.ProcessEnv, isTty: boolean): boolean {
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"] && env["FORCE_COLOR"] !== "0") return true;
  return isTty && !/^(dumb|vt\d)/.test(env["TERM"] ?? "");
}

/** Whether `fd` is a character device other than /dev/null. Does not use node:tty, which costs 2.4 MB of memory. */
function isTerminal(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    return stat.isCharacterDevice() && stat.rdev !== statSync("/dev/null").rdev;
  } catch {
    return false;
  }
}

const firstByteTimeoutMs = 3000;

/**
 * Reads all of stdin. Returns "" if stdin is closed. Without `wait` it also returns "" if no data arrives in time, because
 * the parent process may have left stdin open by mistake.
 */
async function readStdin({ wait }: { wait: boolean }): Promise<string> {
  let stat;
  try {
    stat = fstatSync(0);
  } catch {
    return "";
  }
  if (stat.isCharacterDevice() && !wait) return "";
  const reader = Bun.stdin.stream().getReader();
  const timeout = Promise.withResolvers<null>();
  const timer = wait ? undefined : setTimeout(() => timeout.resolve(null), firstByteTimeoutMs);
  const firstChunk = await Promise.race([reader.read(), timeout.promise]);
  clearTimeout(timer);
  if (firstChunk === null) {
    writeAll(2, "skein: stdin is open but has no data; continuing without it (close it with </dev/null)\n");
    return "";
  }
  const decoder = new TextDecoder();
  let text = "";
  for (let chunk = firstChunk; !chunk.done; chunk = await reader.read()) text += decoder.decode(chunk.value, { stream: true });
  return text + decoder.decode();
}
