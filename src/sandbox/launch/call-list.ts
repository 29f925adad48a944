// A list of system calls as data. skein writes it, and a launcher runs it in a process that then becomes another program.
// Two launchers run the same list: the native one (native/launcher.c) and, where that can't run, `launcher.ts`.
import { type CallName, callNumber } from "./syscalls.ts";

/** The result of an earlier call, for example an open file. A call that uses the result of a failed one is skipped. */
export type Result = { slot: number };
/** A place in the list's data. */
export type DataPointer = { offset: number };
export type CallArgument = number | string | Uint8Array | DataPointer | Result;

/** Failures that do not matter. Any other ends the launcher with the call's description and the name of the error. */
export type OnError = "ignore" | "ignore-missing" | "ignore-existing";

export type EntryRules = { ruleset: Result; forDirectory: DataPointer; forFile: DataPointer };

type Row = { operation: number; slot: number; onError: number; kinds: number[]; values: number[]; message: number };

/** Must be as in native/launcher.c. */
export const operation = { fork: 0xff01, execute: 0xff02, storePointer: 0xff03, storeResult: 0xff04, allowEntries: 0xff05 };
export const argumentKind = { number: 0, pointer: 1, result: 2, failure: 3 };
const maxArguments = 6;
export const onErrorCode = { fail: 0, ignore: 1, "ignore-missing": 2, "ignore-existing": 3 };
export const maxResults = 1024;
const rowBytes = 40;

export class CallList {
  /** Rows and data are written as bytes at once: a usual list has five hundred rows, and objects for them took twice the memory. */
  readonly #rows = new GrowingBytes();
  readonly #data = new GrowingBytes();
  /** Offsets of texts and constants in the data. */
  readonly #texts = new Map<string, number>();
  readonly #constants = new Map<string, number>();
  /** Slot 0 takes the results that no later call uses. */
  #nextSlot = 1;
  readonly #freeSlots: number[] = [];
  #condition: Result | null = null;

  /** For the launcher in JavaScript. */
  get rows(): readonly Row[] {
    const bytes = this.#rows.bytes();
    return Array.from({ length: bytes.length / rowBytes }, (_, index) => readRow(bytes.subarray(index * rowBytes, (index + 1) * rowBytes)));
  }

  /** Adds a system call. `what` completes "can't ..." if it fails. */
  call(name: CallName, args: CallArgument[], what: string, onError?: OnError): void {
    this.#add({ operation: callNumber(name), args, slot: 0, what, onError });
  }

  /** Adds a system call whose result later calls use. */
  open(name: CallName, args: CallArgument[], what: string, onError?: OnError): Result {
    const slot = this.#freeSlots.pop() ?? this.#nextSlot;
    if (slot === this.#nextSlot) this.#nextSlot += 1;
    this.#add({ operation: callNumber(name), args, slot, what, onError });
    return { slot };
  }

  /** Closes a file. Its result must not be used afterwards. */
  close(file: Result): void {
    this.call("close", [file], "", "ignore");
    this.#freeSlots.push(file.slot);
  }

  /** The calls that `add` adds run only if the call with this result failed. They have at most five arguments. */
  ifFailed(result: Result, add: () => void): void {
    const outer = this.#condition;
    this.#condition = result;
    add();
    this.#condition = outer;
  }

  /** The following calls run in a child process, which is the first of a new pid namespace. Only the native launcher can do it. */
  fork(): void {
    this.#add({ operation: operation.fork, args: [], slot: 0, what: "start a process" });
  }

  /** The last row: executes the program that the launcher got as arguments. */
  execute(program: string): void {
    this.#add({ operation: operation.execute, args: [], slot: 0, what: `start ${program}` });
  }

  /** Writes the address of `target` into the data, for structures with pointers. */
  storePointer(place: DataPointer, target: DataPointer): void {
    this.#add({ operation: operation.storePointer, args: [place, target], slot: 0, what: "store" });
  }

  /** Writes a result into the data as a number of 32 bits, for structures with files. */
  storeResult(place: DataPointer, result: Result): void {
    this.#add({ operation: operation.storeResult, args: [place, result], slot: 0, what: "store" });
  }

  /**
   * Allows by Landlock every entry of a directory, except for the named ones and for links. The launcher fills its files into
   * the rules, which are structures of the kernel.
   */
  allowEntries(directory: string, except: string[], rules: EntryRules): void {
    const names = Buffer.from([".", "..", ...except, ""].map((name) => `${name}\0`).join(""));
    const args = [rules.ruleset, directory, names, rules.forDirectory, rules.forFile];
    this.#add({ operation: operation.allowEntries, args, slot: 0, what: `allow the entries of ${directory} by Landlock` });
  }

  data(bytes: Uint8Array): DataPointer {
    const offset = this.#data.add(aligned(bytes.length));
    this.#data.buffer.set(bytes, offset);
    return { offset };
  }

  /** Bytes that no call changes, except right before each use. Those with the same key are made and stored once. */
  constant(key: string, bytes: () => Uint8Array): DataPointer {
    const offset = this.#constants.get(key) ?? this.data(bytes()).offset;
    this.#constants.set(key, offset);
    return { offset };
  }

  text(text: string): DataPointer {
    return { offset: this.#offsetOf(text) };
  }

  dataBytes(): Uint8Array {
    return this.#data.bytes();
  }

  /** Null if a launcher can't run it: it has too many results. */
  encode(): Uint8Array | null {
    if (this.#nextSlot > maxResults) return null;
    const [rows, data] = [this.#rows.bytes(), this.#data.bytes()];
    const header = new Uint32Array([rows.length / rowBytes, data.length]);
    return Buffer.concat([new Uint8Array(header.buffer), rows, data]);
  }

  #offsetOf(text: string): number {
    const stored = this.#texts.get(text);
    if (stored !== undefined) return stored;
    // Structures start at a multiple of eight. The bytes after the text are zero.
    const offset = this.#data.add(aligned(Buffer.byteLength(text) + 1));
    this.#data.buffer.write(text, offset);
    this.#texts.set(text, offset);
    return offset;
  }

  #add({ operation: number, args, slot, what, onError }: NewRow): void {
    const message = onError === "ignore" ? 0 : this.#offsetOf(`can't ${what}`);
    const values: number[] = [];
    for (const argument of args) values.push(this.#valueOf(argument));
    const offset = this.#rows.add(rowBytes);
    const { buffer } = this.#rows;
    buffer.writeUInt16LE(number, offset);
    buffer.writeUInt16LE(slot, offset + 2);
    buffer.writeUInt8(onErrorCode[onError ?? "fail"], offset + 4);
    buffer.writeUInt32LE(message, offset + 12);
    for (let index = 0; index < args.length; index += 1) this.#writeArgument(offset, index, kindOf(args[index]!), values[index]!);
    if (this.#condition !== null) this.#writeArgument(offset, maxArguments - 1, argumentKind.failure, this.#condition.slot);
  }

  #writeArgument(row: number, index: number, kind: number, value: number): void {
    this.#rows.buffer.writeUInt8(kind, row + 5 + index);
    this.#rows.buffer.writeInt32LE(value | 0, row + 16 + 4 * index);
  }

  #valueOf(argument: CallArgument): number {
    if (typeof argument === "number") return argument;
    if (typeof argument === "string") return this.#offsetOf(argument);
    if (argument instanceof Uint8Array) return this.data(argument).offset;
    return "slot" in argument ? argument.slot : argument.offset;
  }
}

/** Bytes to which more are added. Added bytes are zero until they are written. */
class GrowingBytes {
  /** Another one after `add`. */
  buffer: Buffer = Buffer.alloc(firstBytes);
  #length = 0;

  /** Returns the offset of the new bytes. */
  add(count: number): number {
    const offset = this.#length;
    this.#length += count;
    if (this.#length > this.buffer.length) {
      const larger = Buffer.alloc(Math.max(this.#length, 2 * this.buffer.length));
      larger.set(this.buffer);
      this.buffer = larger;
    }
    return offset;
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.#length);
  }
}

/** Enough for the rows, or the data, of a usual sandbox. */
const firstBytes = 32 << 10;

function aligned(length: number): number {
  return Math.ceil(length / 8) * 8;
}

function kindOf(argument: CallArgument): number {
  if (typeof argument === "number") return argumentKind.number;
  return typeof argument === "object" && "slot" in argument ? argumentKind.result : argumentKind.pointer;
}

type NewRow = { operation: number; args: CallArgument[]; slot: number; what: string; onError?: OnError | undefined };

function readRow(bytes: Buffer): Row {
  const indexes = Array.from({ length: maxArguments }, (_, index) => index);
  return {
    operation: bytes.readUInt16LE(0),
    slot: bytes.readUInt16LE(2),
    onError: bytes.readUInt8(4),
    kinds: indexes.map((index) => bytes.readUInt8(5 + index)),
    message: bytes.readUInt32LE(12),
    values: indexes.map((index) => bytes.readInt32LE(16 + 4 * index)),
  };
}

/** Bytes as base64 for an environment variable. Zeros at the end replace its padding, which the launcher can't read. */
export function encodeText(bytes: Uint8Array): string {
  const missing = (3 - (bytes.length % 3)) % 3;
  return Buffer.concat([bytes, new Uint8Array(missing)]).toString("base64");
}
