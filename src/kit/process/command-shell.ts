// A shell that stays open and runs one command after the other. The sandbox around it is built only once for all of
// them. Input and output are files in a private directory, which the commands can write too.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createSafely, readSafely } from "../files/safe-file.ts";
import { sendSignal } from "./processes.ts";
import { lastLine } from "../text/cut-text.ts";
import { shellQuote } from "../text/shell-quote.ts";

export type ShellCommand = {
  /** The absolute path of the program, and its arguments. */
  argv: readonly string[];
  cwd: string;
  env: Record<string, string>;
  stdin?: Uint8Array;
  /** A program that gets `stdin`, and whose output the command reads instead. */
  source?: readonly string[];
  /** Output after this many bytes is cut, and the program is ended. */
  maxBytes?: number;
  /** Ends the shell, with the program and all waiting commands. */
  signal?: AbortSignal;
};

/** `code` is null if the signal ended the program; `out` then has its output so far. */
export type ShellResult = { code: number | null; out: Buffer; err: string };

export type ShellOptions = {
  /** Starts `/bin/sh` without arguments, in a sandbox or not. */
  command: readonly string[];
  env?: Record<string, string>;
  /** For input and output. It exists and is private. */
  directory: string;
};

const maxTimerMs = 2 ** 31 - 1;
const maxErrorBytes = 64 << 10;

export class CommandShell {
  readonly #options: ShellOptions;
  #child: Bun.Subprocess<"pipe", "pipe", "pipe"> | null = null;
  #count = 0;
  readonly #waiting = new Map<number, { resolve: (code: number | null) => void; reject: (error: Error) => void }>();

  constructor(options: ShellOptions) {
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#waiting.size > 0;
  }

  /** Rejects if the shell can't be started or ends before the command. */
  async run(command: ShellCommand): Promise<ShellResult> {
    if (command.signal?.aborted) return { code: null, out: Buffer.alloc(0), err: "" };
    const number = (this.#count += 1);
    const files = { in: this.#file(number, "in"), out: this.#file(number, "out"), err: this.#file(number, "err") };
    const { promise, resolve, reject } = Promise.withResolvers<number | null>();
    const stop = (): void => {
      resolve(null);
      this.#end(new Error("another command took too long"));
    };
    // An idle shell must not keep the process alive, but a command must. Bun can't `ref` a child again.
    const keepAlive = setInterval(() => {}, maxTimerMs);
    command.signal?.addEventListener("abort", stop, { once: true });
    try {
      if (command.stdin !== undefined && !createSafely(files.in, command.stdin)) throw new Error(`${files.in} exists already`);
      this.#waiting.set(number, { resolve, reject });
      const child = (this.#child ??= this.#start());
      await send(child.stdin, `${scriptOf(command, files)}; echo "${number} $?"\n`);
      const code = await promise;
      return { code, out: readOrEmpty(files.out), err: readOrEmpty(files.err).subarray(0, maxErrorBytes).toString() };
    } finally {
      clearInterval(keepAlive);
      this.#waiting.delete(number);
      command.signal?.removeEventListener("abort", stop);
      for (const file of Object.values(files)) rmSync(file, { force: true });
    }
  }

  close(): void {
    this.#end(new Error("the shell was closed"));
  }

  #file(number: number, suffix: string): string {
    return join(this.#options.directory, `${number}.${suffix}`);
  }

  #start(): Bun.Subprocess<"pipe", "pipe", "pipe"> {
    const { command, env = {} } = this.#options;
    const child = Bun.spawn([...command], { cwd: "/", env, stdio: ["pipe", "pipe", "pipe"], detached: true });
    child.unref();
    void this.#readReplies(child);
    return child;
  }

  async #readReplies(child: Bun.Subprocess<"pipe", "pipe", "pipe">): Promise<void> {
    const errors = new Response(child.stderr).text();
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      const lines = (text + decoder.decode(chunk, { stream: true })).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const [number, code] = line.split(" ").map(Number);
        this.#waiting.get(number ?? 0)?.resolve(code ?? 1);
      }
    }
    const message = lastLine(await errors);
    if (this.#child === child) this.#end(new Error(message || "the shell ended"));
  }

  #end(error: Error): void {
    const child = this.#child;
    this.#child = null;
    if (child !== null) sendSignal(-child.pid, "SIGKILL");
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

async function send(stdin: Bun.FileSink, line: string): Promise<void> {
  try {
    await stdin.write(line);
    await stdin.flush();
  } catch {
    // The shell has ended. The reader of its output rejects the command with the reason.
  }
}

/** One line of shell script. The status of the last program is the status of the command. */
function scriptOf({ argv, cwd, env, stdin, source, maxBytes }: ShellCommand, files: { in: string; out: string; err: string }): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${shellQuote(value)}`);
  const start = (program: readonly string[]) => `exec ${program.map(shellQuote).join(" ")}`;
  const run = source === undefined ? start(argv) : `(${start(source)}) | ${start(argv)}`;
  const program = `(export ${variables.join(" ")} && cd ${shellQuote(cwd)} && ${run})`;
  const input = stdin === undefined ? "/dev/null" : shellQuote(files.in);
  const redirects = `<${input} 2>${shellQuote(files.err)}`;
  if (maxBytes === undefined) return `${program} ${redirects} >${shellQuote(files.out)}`;
  // A pipe has the status of its last program, so the other status takes a descriptor of its own.
  const counted = `{ ${program} ${redirects} 3>&-; echo $? >&3; }`;
  return `code=$({ ${counted} | head -c ${maxBytes} >${shellQuote(files.out)}; } 3>&1); (exit "$code")`;
}

/** Empty if the command was ended before it began. A command may have put a link in the place of its output. */
function readOrEmpty(file: string): Buffer {
  return readSafely(file, { maxBytes: Number.MAX_SAFE_INTEGER }) ?? Buffer.alloc(0);
}
