// One run of the executor's process as its starter sees it: from the spawn to the exit, with every call that is
// under way in between. A call that is pending when the process ends is settled with an error that says so.
import { Fault } from "../protocol/api/error.ts";
import type { ToolCallOptions, ToolOutcome } from "../protocol/api/ports.ts";
import { Excerpt } from "../kit/text/excerpt.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import {
  type CallRequest,
  type CallResult,
  FrameReader,
  frameTypes,
  jsonFrame,
  maxFrameBytes,
  readJsonFrame,
  readOutputFrame,
} from "./frames.ts";

export type ConnectionOptions = { command: string[]; env: Record<string, string>; cwd: string; readyMs: number };

/** `isClean` is true for a process that ended by itself with 0. */
export type ExecutorExit = { how: string; isClean: boolean };

type Pending = { settle: (outcome: ToolOutcome) => void; onOutput: ToolCallOptions["onOutput"] };

// The optimising compiler costs the executor 5 MB and gains it nothing; run from source it would also keep what it
// compiled in the user's home. Tools never see these.
const frugal = { BUN_JSC_useDFGJIT: "0", BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
const stopMs = 10_000;
const closeMs = 3_000;

export class ExecutorConnection {
  readonly ready: Promise<void>;
  readonly ended: Promise<ExecutorExit>;
  isGone = false;
  readonly #process: Bun.Subprocess<"pipe", "pipe", "pipe"> | null;
  readonly #pending = new Map<number, Pending>();
  readonly #complaints = new Excerpt(1024, 3072);

  constructor(options: ConnectionOptions) {
    const isReady = Promise.withResolvers<void>();
    this.ready = isReady.promise;
    // Whoever calls a tool awaits it; until then nobody may.
    this.ready.catch(() => undefined);
    const started = this.#start(options);
    this.#process = typeof started === "string" ? null : started;
    this.ended = typeof started === "string" ? Promise.resolve({ how: started, isClean: true }) : this.#follow(started, isReady.resolve);

    const patience = setTimeout(() => {
      isReady.reject(unavailable(`was not ready within ${options.readyMs} ms`, this.#complaints));
      this.kill();
    }, options.readyMs);
    void this.ready.then(
      () => clearTimeout(patience),
      () => clearTimeout(patience),
    );
    void this.ended.then(({ how }) => {
      isReady.reject(unavailable(how, this.#complaints));
      this.#giveUp(how);
    });
  }

  call(request: CallRequest, options: Pick<ToolCallOptions, "signal" | "onOutput">): Promise<ToolOutcome> {
    const frame = jsonFrame(frameTypes.call, request);
    if (frame.length > maxFrameBytes) return Promise.resolve({ text: "the arguments are too large", isError: true });
    if (this.isGone) return Promise.resolve(gone("ended before the call"));
    return new Promise((resolve) => {
      let patience: Timer | undefined;
      const cancel = (): void => {
        this.#send(jsonFrame(frameTypes.cancel, { call: request.call }));
        patience = setTimeout(() => settle({ text: "cancelled; the tool did not stop in time", isError: true }), stopMs);
      };
      const settle = (outcome: ToolOutcome): void => {
        this.#pending.delete(request.call);
        clearTimeout(patience);
        options.signal.removeEventListener("abort", cancel);
        resolve(outcome);
      };
      this.#pending.set(request.call, { settle, onOutput: options.onOutput });
      options.signal.addEventListener("abort", cancel, { once: true });
      this.#send(frame);
      if (options.signal.aborted) cancel();
    });
  }

  /** A session, or all with null, stands still or goes on. */
  tell(what: "stop" | "go", session: string | null): void {
    if (!this.isGone) this.#send(jsonFrame(frameTypes[what], { session }));
  }

  /** The end of its stdin tells the executor to end all it started, and itself. */
  async close(): Promise<void> {
    if (!this.#process) return;
    try {
      void this.#process.stdin.end();
    } catch {
      // It has ended already.
    }
    const patience = setTimeout(() => this.kill(), closeMs);
    await this.ended;
    clearTimeout(patience);
  }

  kill(): void {
    this.#process?.kill("SIGKILL");
  }

  /** The process, or why there is none. */
  #start({ command, env, cwd }: ConnectionOptions): Bun.Subprocess<"pipe", "pipe", "pipe"> | string {
    try {
      return Bun.spawn(command, { cwd, env: { ...env, ...frugal }, stdio: ["pipe", "pipe", "pipe"], detached: true });
    } catch (error) {
      return `could not be started: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  async #follow(child: Bun.Subprocess<"pipe", "pipe", "pipe">, onReady: () => void): Promise<ExecutorExit> {
    const reading = this.#readFrames(child, onReady).catch(() => child.kill("SIGKILL"));
    const complaining = this.#readComplaints(child);
    await child.exited;
    const how = child.signalCode ? `was killed by ${child.signalCode}` : `ended with exit code ${child.exitCode}`;
    // A process that inherited its streams may hold them open.
    await Promise.race([Promise.all([reading, complaining]), Bun.sleep(200)]);
    return { how, isClean: child.exitCode === 0 };
  }

  async #readFrames(child: Bun.Subprocess<"pipe", "pipe", "pipe">, onReady: () => void): Promise<void> {
    const frames = new FrameReader();
    for await (const chunk of child.stdout) {
      for (const { type, payload } of frames.push(chunk)) {
        if (type === frameTypes.ready) onReady();
        else if (type === frameTypes.output) this.#passOutput(payload);
        else if (type === frameTypes.result) this.#passResult(readJsonFrame<CallResult>(payload));
      }
    }
  }

  async #readComplaints(child: Bun.Subprocess<"pipe", "pipe", "pipe">): Promise<void> {
    for await (const chunk of child.stderr) this.#complaints.push(chunk);
  }

  #passOutput(payload: Uint8Array): void {
    const { call, bytes } = readOutputFrame(payload);
    this.#pending.get(call)?.onOutput(bytes);
  }

  #passResult({ call, outcome }: CallResult): void {
    this.#pending.get(call)?.settle(outcome);
  }

  #send(frame: Uint8Array): void {
    try {
      void this.#process?.stdin.write(frame);
      void Promise.resolve(this.#process?.stdin.flush()).catch(() => undefined);
    } catch {
      // Its end settles the call.
    }
  }

  #giveUp(how: string): void {
    this.isGone = true;
    for (const { settle } of this.#pending.values()) settle(gone(how));
  }
}

function gone(how: string): ToolOutcome {
  return { text: `the executor ${how} while this call ran; whether it had an effect is unknown`, isError: true };
}

function unavailable(how: string, complaints: Excerpt): Fault {
  const said = oneLine(complaints.text().text, 400);
  return new Fault("sandbox-unavailable", `the executor ${how}${said ? `: ${said}` : ""}`, {
    hint: "run skein doctor to see what this machine can enforce",
  });
}
