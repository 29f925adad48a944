// The wire format between client and server: a 4-byte length, a 1-byte type and a payload.
// Requests and results are JSON. Output is raw bytes after a call number, so that no output has to be encoded.
import type { OutputStream } from "../kit/process/output-reader.ts";
import type { ToolOutcome } from "../protocol/api/ports.ts";

export const frameTypes = {
  call: 1,
  cancel: 2,
  pause: 3,
  resume: 4,
  input: 5,
  ready: 16,
  output: 17,
  result: 18,
  errorOutput: 19,
  paused: 20,
} as const;

export type CallRequest = {
  call: number;
  name: string;
  input: unknown;
  session: string;
  cwd: string;
  env: Record<string, string>;
  /** `NAME=value`: the entry of `env` that identifies the processes of this call. */
  envTag: string;
  /** True sends stderr in frames of its own. Else both streams arrive as one, in the order in which they were written. */
  separateStreams?: boolean;
  /** A program with its arguments, instead of a tool. It reads the input frames of this call on stdin. */
  program?: string[];
};
export type CancelRequest = { call: number };
/** Null pauses or resumes every session of this executor. */
export type PauseRequest = { session: string | null };
/** Answers a request to pause when no process of the session can run. The answers are in no order. */
export type PauseAnswer = { pause: number };
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

/** The bytes before the output itself. The output follows in a second write, so that it is not copied. */
export function outputHeader(call: number, stream: OutputStream, length: number): Uint8Array {
  const header = Buffer.allocUnsafe(headerBytes + callBytes);
  writeHeader(header, stream === "stdout" ? frameTypes.output : frameTypes.errorOutput, callBytes + length);
  header.writeUInt32LE(call, headerBytes);
  return header;
}

/** Bytes for the stdin of a program. */
export function inputFrame(call: number, bytes: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(headerBytes + callBytes + bytes.length);
  writeHeader(frame, frameTypes.input, callBytes + bytes.length);
  frame.writeUInt32LE(call, headerBytes);
  frame.set(bytes, headerBytes + callBytes);
  return frame;
}

export function readJsonFrame<T>(payload: Uint8Array): T {
  return JSON.parse(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString()) as T;
}

/** Reads a frame of output or input. */
export function readOutputFrame(payload: Uint8Array): { call: number; bytes: Uint8Array } {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  return { call: view.getUint32(0, true), bytes: payload.subarray(callBytes) };
}

/** Assembles frames from chunks of any size. Throws if a length exceeds `maxFrameBytes`. */
export class FrameReader {
  /** Chunks are joined only when a frame is complete, so that a long frame is copied once. */
  #chunks: Uint8Array[] = [];
  #storedBytes = 0;
  #neededBytes = headerBytes;

  *push(chunk: Uint8Array): Generator<Frame> {
    this.#chunks.push(chunk);
    this.#storedBytes += chunk.length;
    while (this.#storedBytes >= this.#neededBytes) {
      const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
      const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
      if (length > maxFrameBytes) throw new RangeError(`a frame of ${length} bytes is too large`);
      const end = headerBytes + length;
      const isComplete = bytes.length >= end;
      this.#chunks = [isComplete ? bytes.subarray(end) : bytes];
      this.#storedBytes = this.#chunks[0]!.length;
      this.#neededBytes = isComplete ? headerBytes : end;
      if (isComplete) yield { type: bytes[4]!, payload: bytes.subarray(headerBytes, end) };
    }
  }
}

function writeHeader(target: Buffer, type: number, length: number): void {
  target.writeUInt32LE(length, 0);
  target[4] = type;
}
