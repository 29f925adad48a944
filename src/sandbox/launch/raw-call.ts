// Makes system calls by number, by the C library. Loaded only by the launcher in JavaScript and by the probe.
import { dlopen, type Pointer, ptr, read } from "bun:ffi";
import { currentDirectory } from "./open-real.ts";
import { callNumber } from "./syscalls.ts";

export type RawCalls = {
  /** Returns the result, or the negated error number. Arguments are numbers and addresses. */
  call: (number: number, args: readonly number[]) => number;
  /** Sets a signal to its default action. */
  resetSignal: (signal: number) => void;
  /** Without the program `mkfifo`, for which the first run in a new home would wait. A failure is ignored. */
  makeNamedPipe: (path: string) => void;
};

/** S_IFIFO with mode 600. */
const namedPipe = 0o010_600;

const libraries = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

export function openRawCalls(): RawCalls {
  const { syscall, __errno_location: errno, signal } = openLibrary();
  const call: RawCalls["call"] = (number, args) => {
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = args;
    const result = Number(syscall(number, a, b, c, d, e, f));
    return result === -1 ? -read.i32(errno() as Pointer, 0) : result;
  };
  return {
    call,
    resetSignal: (number) => void signal(number, null),
    makeNamedPipe: (path) => {
      const text = Buffer.from(`${path}\0`);
      call(callNumber("mknodat"), [currentDirectory, ptr(text), namedPipe, 0]);
    },
  };
}

function openLibrary() {
  const machineWord = "i64" as const;
  for (const library of libraries) {
    try {
      return dlopen(library, {
        syscall: {
          args: [machineWord, machineWord, machineWord, machineWord, machineWord, machineWord, machineWord],
          returns: machineWord,
        },
        __errno_location: { args: [], returns: "ptr" },
        signal: { args: ["i32", "ptr"], returns: "ptr" },
      }).symbols;
    } catch {
      continue;
    }
  }
  throw new Error("the C library can't be loaded");
}
