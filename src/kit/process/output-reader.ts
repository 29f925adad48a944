// Reads what a program prints while it runs, and knows when there is nothing more to wait for after its exit: what it left
// in the background may hold the pipe open for ever.
import type { PauseGate } from "../flow/pause-gate.ts";

/** The program waits while a returned promise is pending; who throws is told nothing more. */
type Take = (chunk: Uint8Array) => void | Promise<void>;

const quietMs = 100;
const longestWaitMs = 1000;
const longestTurnMs = 10;
const mostBytesAfterExit = 1 << 20;

/** Reads the pipe to its end. Once let go it only empties it, so that a background writer is not stopped by it. */
export class OutputReader {
  bytes = 0;
  readonly #ended: Promise<void>;
  readonly #gate: PauseGate | null;
  #isListening = true;
  #isReading = false;

  /** While the gate is shut nothing is passed on, and nothing more read. */
  constructor(stream: ReadableStream<Uint8Array>, onOutput: Take, release: () => void, pauseGate: PauseGate | null = null) {
    this.#gate = pauseGate;
    this.#ended = this.#read(stream, onOutput)
      .catch(() => undefined)
      .finally(release);
  }

  /** After the program's exit: the end of the pipe, or a silence that says only background writers hold it. */
  async rest(limitMs: number): Promise<void> {
    const giveUpAt = performance.now() + limitMs;
    const bytesAtExit = this.bytes;
    let waitedMs = 0;
    let seenBytes = this.bytes;
    let silentMs = 0;
    while (this.bytes - bytesAtExit < mostBytesAfterExit && waitedMs < longestWaitMs) {
      const tick = 10;
      if (limitMs === Infinity) await this.#gate?.whenOpen();
      const isOver = await Promise.race([this.#ended.then(() => true), sleep(tick).then(() => false)]);
      if (isOver || performance.now() >= giveUpAt) return;
      // Time in which the listener is busy is not silence of the program.
      if (!this.#isReading) continue;
      waitedMs += tick;
      silentMs = this.bytes === seenBytes ? silentMs + tick : 0;
      seenBytes = this.bytes;
      if (silentMs >= quietMs) return;
    }
  }

  letGo(): void {
    this.#isListening = false;
  }

  async #read(stream: ReadableStream<Uint8Array>, onOutput: Take): Promise<void> {
    const reader = stream.getReader();
    for (let turnAt = performance.now(); ;) {
      // Whoever prints without a pause would keep timers from running, and with them every limit.
      if (performance.now() - turnAt > longestTurnMs) {
        await new Promise((resolve) => setImmediate(resolve));
        turnAt = performance.now();
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

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
