// Reads the output of a program while it runs, and decides after its exit when to stop waiting for more.
// A background process of the program may keep the pipe open for ever.
import type { PauseGate } from "../flow/pause-gate.ts";
import { yieldToEventLoop } from "../flow/time-slice.ts";

export type OutputStream = "stdout" | "stderr";

/** No more output is read while a returned promise is pending. After an exception it is not called again. */
type OnOutput = (chunk: Uint8Array) => void | Promise<void>;

const quietMs = 100;
const maxWaitMs = 1000;
const maxSliceMs = 10;
const maxBytesAfterExit = 1 << 20;

/** Reads the pipe to its end. After `stopListening` it discards output, so that a background process is not blocked. */
export class OutputReader {
  bytes = 0;
  readonly #ended: Promise<void>;
  readonly #gate: PauseGate | null;
  #isListening = true;
  #isReading = false;

  /** `release` is called once, at the end of the pipe. While the gate is paused, no output is read or passed on. */
  constructor(stream: ReadableStream<Uint8Array>, onOutput: OnOutput, release: () => void, pauseGate: PauseGate | null = null) {
    this.#gate = pauseGate;
    this.#ended = this.#read(stream, onOutput)
      .catch(() => undefined)
      .finally(release);
  }

  /** Call it after the exit. Resolves at the end of the pipe, or after 100 ms without output: then only background processes hold it. */
  async drain(limitMs: number): Promise<void> {
    const endsAt = performance.now() + limitMs;
    const bytesAtExit = this.bytes;
    let waitedMs = 0;
    let lastBytes = this.bytes;
    let silentMs = 0;
    while (this.bytes - bytesAtExit < maxBytesAfterExit && waitedMs < maxWaitMs) {
      const tick = 10;
      // A drain with a limit belongs to a process that is being stopped, which a pause must not delay.
      if (limitMs === Infinity) await this.#gate?.whenOpen();
      const isOver = await Promise.race([this.#ended.then(() => true), Bun.sleep(tick).then(() => false)]);
      if (isOver || performance.now() >= endsAt) return;
      // Time in which the listener is busy does not count as silence of the program.
      if (!this.#isReading) continue;
      waitedMs += tick;
      silentMs = this.bytes === lastBytes ? silentMs + tick : 0;
      lastBytes = this.bytes;
      if (silentMs >= quietMs) return;
    }
  }

  stopListening(): void {
    this.#isListening = false;
  }

  async #read(stream: ReadableStream<Uint8Array>, onOutput: OnOutput): Promise<void> {
    const reader = stream.getReader();
    for (let sliceAt = performance.now(); ;) {
      // Bun runs no timers while a stream has data, so a program that prints without a pause would exceed every limit.
      if (performance.now() - sliceAt > maxSliceMs) {
        await yieldToEventLoop();
        sliceAt = performance.now();
      }
      this.#isReading = true;
      const { done, value } = await reader.read();
      this.#isReading = false;
      if (done) return;
      if (!this.#isListening) continue;
      this.bytes += value.length;
      await this.#gate?.whenOpen();
      try {
        await onOutput(value);
      } catch {
        this.#isListening = false;
      }
    }
  }
}
