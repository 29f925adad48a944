// How client and server talk: frames of a 4-byte length, a 1-byte type and a payload. Requests and results are
// JSON; output is raw bytes behind a call number, so that any amount passes without being encoded.
import type { ToolOutcome } from "../protocol/api/ports.ts";

export const frameTypes = { call: 1, cancel: 2, stop: 3, go: 4, ready: 16, output: 17, result: 18 } as const;

export type CallRequest = {
  call: number;
  name: string;
  input: unknown;
  session: string;
  turn: string;
  cwd: string;
  env: Record<string, string>;
  /** Entry of `env` by which the processes of this call are found. */
  envTag: string;
};
export type CancelRequest = { call: number };
/** Which session is to stand still, or to go on; null is all that runs here. */
export type PauseRequest = { session: string | null };
export type CallResult = { call: number; outcome: ToolOutcome };

export type Frame = { type: number; payload: Uint8Array };

export const maxFrameBytes = 64 << 20;
const headerBytes = 5;
const callBytes = 4;

export function jsonFrame(type: number, value: unknown): Uint8Array {
  const payload = Buffer.from(JSON.stringify(value));
  const frame = Buffer.allocUnsafe(headerBytes + payload.length);
  writeHeader(frame, type, payload.length);
  frame.set(payload, headerBytes);
  return frame;
}

/** What goes before the bytes of an output frame. */
export function outputHeader(call: number, length: number): Uint8Array {
  const header = Buffer.allocUnsafe(headerBytes + callBytes);
  writeHeader(header, frameTypes.output, callBytes + length);
  header.writeUInt32LE(call, headerBytes);
  return header;
}

export function readJsonFrame<T>(payload: Uint8Array): T {
  return JSON.parse(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString()) as T;
}

export function readOutputFrame(payload: Uint8Array): { call: number; bytes: Uint8Array } {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  return { call: view.getUint32(0, true), bytes: payload.subarray(callBytes) };
}

/** Puts frames together from whatever pieces arrive. Throws on a length that no frame of ours has. */
export class FrameReader {
  readonly #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  #payload: Uint8Array | null = null;
  #filled = 0;

  *push(chunk: Uint8Array): Generator<Frame> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#headerFilled < headerBytes) {
        const taken = rest.subarray(0, headerBytes - this.#headerFilled);
        this.#header.set(taken, this.#headerFilled);
        this.#headerFilled += taken.length;
        rest = rest.subarray(taken.length);
        if (this.#headerFilled < headerBytes) return;
      }
      const length = this.#header.readUInt32LE(0);
      if (length > maxFrameBytes) throw new RangeError(`a frame of ${length} bytes is over the bound`);
      let payload: Uint8Array;
      if (this.#payload === null && rest.length >= length) {
        payload = rest.subarray(0, length);
        rest = rest.subarray(length);
      } else {
        this.#payload ??= new Uint8Array(length);
        const taken = rest.subarray(0, length - this.#filled);
        this.#payload.set(taken, this.#filled);
        this.#filled += taken.length;
        rest = rest.subarray(taken.length);
        if (this.#filled < length) return;
        payload = this.#payload;
      }
      this.#payload = null;
      this.#filled = 0;
      this.#headerFilled = 0;
      yield { type: this.#header[4]!, payload };
    }
  }
}

function writeHeader(target: Buffer, type: number, length: number): void {
  target.writeUInt32LE(length, 0);
  target[4] = type;
}
