// The real world as a command sees it: streams, terminal, signals. The Api is made by whoever opens the ctx.
import { fstatSync, statSync, writeSync } from "node:fs";
import type { Api } from "../../protocol/api/api.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { EnclosingSession } from "../../protocol/api/policy.ts";
import type { CommandContext, AppOverrides, TextOutput } from "../parse/command.ts";

export type CommandContextDeps = {
  version: string;
  cwd: string;
  home: string;
  project: string;
  projectOf: (directory: string) => string;
  state: string;
  selfCommand: readonly string[];
  api: (overrides: AppOverrides) => Promise<Api>;
  enclosingSession: () => EnclosingSession | null;
  externalAgentNames: () => Promise<readonly string[]>;
  /** Leaves now: the second Ctrl-C. */
  exit: (code: number) => never;
};

export function createCommandContext(deps: CommandContextDeps): CommandContext {
  const { env } = process;
  let stop: ((signal: "SIGINT" | "SIGTERM") => void) | null = null;
  let stops = 0;
  let lent = 0;
  const stopBy = (signal: "SIGINT" | "SIGTERM") => {
    if (stop === null || stops++ > 0) deps.exit(signal === "SIGINT" ? 130 : 143);
    stop(signal);
  };
  process.on("SIGINT", () => (lent > 0 ? undefined : stopBy("SIGINT")));
  process.on("SIGTERM", () => stopBy("SIGTERM"));
  return {
    api: (overrides = {}) => deps.api(overrides),
    cwd: deps.cwd,
    home: deps.home,
    project: deps.project,
    projectOf: deps.projectOf,
    state: deps.state,
    selfCommand: deps.selfCommand,
    env,
    version: deps.version,
    enclosingSession: deps.enclosingSession,
    externalAgentNames: deps.externalAgentNames,
    stdin: {
      isTty: isTerminal(0),
      text: readStdin,
      async *lines() {
        yield* (await import("./raw-terminal.ts")).stdinLines();
      },
      raw: async (watch) => (await import("./raw-terminal.ts")).rawTerminal(watch),
    },
    async lendTerminal(act) {
      lent += 1;
      try {
        return await act();
      } finally {
        lent -= 1;
      }
    },
    async suspend() {
      process.kill(0, "SIGTSTP");
      await Bun.sleep(stopTakesMs);
    },
    out: screen(1, env, (error) => {
      if (error.code !== "EPIPE") throw new Fault("file-unwritable", `can't write to stdout: ${messageOf(error)}`, { cause: error });
      stopBy("SIGTERM");
    }),
    // What can't be told must not end the work.
    err: screen(2, env, () => {}),
    onStop: (callback) => (stop = callback),
  };
}

/** The kernel stops all threads of a process soon, not at once. Where there is no shell to return to, it does not stop at all. */
const stopTakesMs = 50;

export function currentDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new Fault("file-unreadable", "the current directory does not exist any more", { hint: "cd to one that does", cause: error });
  }
}

/** Writes at once and whole: a record is out before the next thing happens, and a slow reader slows only us. */
function screen(fd: number, env: NodeJS.ProcessEnv, onGone: (error: NodeJS.ErrnoException) => void): TextOutput {
  const terminal = isTerminal(fd);
  let gone = false;
  return {
    isTty: terminal,
    get columns() {
      return (terminal && (fd === 1 ? process.stdout : process.stderr).columns) || 80;
    },
    get rows() {
      return (terminal && (fd === 1 ? process.stdout : process.stderr).rows) || 24;
    },
    color: wantsColor(env, terminal),
    write(text) {
      if (gone) return;
      try {
        writeAll(fd, text);
      } catch (error) {
        gone = true;
        onGone(error as NodeJS.ErrnoException);
      }
    },
  };
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

function wantsColor(env: NodeJS.ProcessEnv, terminal: boolean): boolean {
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"] && env["FORCE_COLOR"] !== "0") return true;
  return terminal && !/^(dumb|vt\d)/.test(env["TERM"] ?? "");
}

/** A character device other than /dev/null. node:tty would tell it too, for 2.4 MB more. */
function isTerminal(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    return stat.isCharacterDevice() && stat.rdev !== statSync("/dev/null").rdev;
  } catch {
    return false;
  }
}

const firstByteMs = 3000;

/** All of stdin; nothing when it is closed, or open and silent (a parent that forgot to close it) and need not be waited for. */
async function readStdin({ wait }: { wait: boolean }): Promise<string> {
  let stat;
  try {
    stat = fstatSync(0);
  } catch {
    return "";
  }
  if (stat.isCharacterDevice() && !wait) return "";
  const reader = Bun.stdin.stream().getReader();
  const first = reader.read();
  const timer = Promise.withResolvers<null>();
  const timeout = wait ? undefined : setTimeout(() => timer.resolve(null), firstByteMs);
  const begun = await Promise.race([first, timer.promise]);
  clearTimeout(timeout);
  if (begun === null) {
    writeAll(2, "skein: stdin is open but silent; going on without it (close it with </dev/null)\n");
    return "";
  }
  const decoder = new TextDecoder();
  let text = begun.done ? "" : decoder.decode(begun.value, { stream: true });
  for (let done = begun.done; !done;) {
    const next = await reader.read();
    done = next.done;
    if (!next.done) text += decoder.decode(next.value, { stream: true });
  }
  return text + decoder.decode();
}
