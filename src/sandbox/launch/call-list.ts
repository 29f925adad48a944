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
  readonly #rows: Row[] = [];
  readonly #data: Uint8Array[] = [];
  readonly #texts = new Map<string, DataPointer>();
  readonly #constants = new Map<string, DataPointer>();
  #dataLength = 0;
  /** Slot 0 takes the results that no later call uses. */
  #nextSlot = 1;
  readonly #freeSlots: number[] = [];
  #condition: Result | null = null;

  get rows(): readonly Row[] {
    return this.#rows;
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
    const offset = this.#dataLength;
    // Structures start at a multiple of eight.
    const padded = new Uint8Array(Math.ceil(bytes.length / 8) * 8);
    padded.set(bytes);
    this.#data.push(padded);
    this.#dataLength += padded.length;
    return { offset };
  }

  /** Bytes that no call changes, except right before each use. Equal ones are stored once. */
  constant(bytes: Uint8Array): DataPointer {
    const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    const stored = this.#constants.get(key);
    if (stored !== undefined) return stored;
    const pointer = this.data(bytes);
    this.#constants.set(key, pointer);
    return pointer;
  }

  text(text: string): DataPointer {
    const stored = this.#texts.get(text);
    if (stored !== undefined) return stored;
    const pointer = this.data(Buffer.from(`${text}\0`));
    this.#texts.set(text, pointer);
    return pointer;
  }

  dataBytes(): Uint8Array {
    return Buffer.concat(this.#data);
  }

  /** Null if a launcher can't run it: it has too many results. */
  encode(): Uint8Array | null {
    if (this.#nextSlot > maxResults) return null;
    const header = new Uint32Array([this.#rows.length, this.#dataLength]);
    const rows = new DataView(new ArrayBuffer(this.#rows.length * rowBytes));
    this.#rows.forEach((row, index) => writeRow(rows, index * rowBytes, row));
    return Buffer.concat([new Uint8Array(header.buffer), new Uint8Array(rows.buffer), ...this.#data]);
  }

  #add({ operation: number, args, slot, what, onError }: NewRow): void {
    const row: Row = {
      operation: number,
      slot,
      onError: onErrorCode[onError ?? "fail"],
      kinds: [],
      values: [],
      message: onError === "ignore" ? 0 : this.text(`can't ${what}`).offset,
    };
    for (const argument of args) {
      const { kind, value } = this.#encodeArgument(argument);
      row.kinds.push(kind);
      row.values.push(value);
    }
    if (this.#condition !== null) {
      while (row.kinds.length < maxArguments - 1) row.kinds.push(argumentKind.number);
      while (row.values.length < maxArguments - 1) row.values.push(0);
      row.kinds.push(argumentKind.failure);
      row.values.push(this.#condition.slot);
    }
    this.#rows.push(row);
  }

  #encodeArgument(argument: CallArgument): { kind: number; value: number } {
    if (typeof argument === "number") return { kind: argumentKind.number, value: argument };
    if (typeof argument === "string") return { kind: argumentKind.pointer, value: this.text(argument).offset };
    if (argument instanceof Uint8Array) return { kind: argumentKind.pointer, value: this.data(argument).offset };
    if ("slot" in argument) return { kind: argumentKind.result, value: argument.slot };
    return { kind: argumentKind.pointer, value: argument.offset };
  }
}

type NewRow = { operation: number; args: CallArgument[]; slot: number; what: string; onError?: OnError | undefined };

function writeRow(view: DataView, at: number, row: Row): void {
  view.setUint16(at, row.operation, true);
  view.setUint16(at + 2, row.slot, true);
  view.setUint8(at + 4, row.onError);
  row.kinds.forEach((kind, index) => view.setUint8(at + 5 + index, kind));
  view.setUint32(at + 12, row.message, true);
  row.values.forEach((value, index) => view.setInt32(at + 16 + 4 * index, value | 0, true));
}

/** Bytes as base64 for an environment variable. Zeros at the end replace its padding, which the launcher can't read. */
export function encodeText(bytes: Uint8Array): string {
  const missing = (3 - (bytes.length % 3)) % 3;
  return Buffer.concat([bytes, new Uint8Array(missing)]).toString("base64");
}
