// System calls by number that Bun does not offer. Only the launcher loads this file, to sandbox itself before it
// executes another program.
import { dlopen, ptr, read } from "bun:ffi";
import { constants } from "node:os";

const numbers = {
  x64: {
    mount: 165,
    prctl: 157,
    capset: 126,
    seccomp: 317,
    execve: 59,
    prlimit: 302,
    socket: 41,
    bind: 49,
    listen: 50,
    sendmsg: 46,
    ioctl: 16,
    close: 3,
  },
  arm64: {
    mount: 40,
    prctl: 167,
    capset: 91,
    seccomp: 277,
    execve: 221,
    prlimit: 261,
    socket: 198,
    bind: 200,
    listen: 201,
    sendmsg: 211,
    ioctl: 29,
    close: 57,
  },
} as const;

/** Since Linux 5.x new calls have the same number on every machine. */
const commonNumbers = {
  openTree: 428,
  moveMount: 429,
  closeRange: 436,
  openat2: 437,
  mountSetattr: 442,
  landlockCreate: 444,
  landlockAdd: 445,
  landlockRestrict: 446,
} as const;

export type CallName = keyof (typeof numbers)["x64"] | keyof typeof commonNumbers;

export type Argument = number | bigint | string | NodeJS.TypedArray | null;

/** Returns the result, or the negated error number. */
export type SystemCall = (name: CallName, ...args: Argument[]) => number;

const libraries = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

export function openSystemCalls(): SystemCall {
  const { syscall, errno, signal } = openLibrary();
  const byName = { ...numbers[process.arch as "x64" | "arm64"], ...commonNumbers };
  // Ignored signals would stay ignored in the program that is executed.
  for (const ignored of [13, 25]) signal(ignored, null);
  return (name, ...args) => {
    // Keeps buffers alive during the call.
    const retained: NodeJS.TypedArray[] = [];
    const words = args.map((argument) => toWord(argument, retained));
    while (words.length < 6) words.push(0);
    const [a, b, c, d, e, f] = words as [number, number, number, number, number, number];
    const result = Number(syscall(byName[name], a, b, c, d, e, f));
    return result === -1 ? -read.i32(errno()!, 0) : result;
  };
}

const currentDirectory = -100;
const pathOnly = 0o10000000;
const closeOnExec = 0o2000000;
const noLinks = 4;

/** Opens a path without following links. A link that was placed there after the path was resolved makes it fail. */
export function openReal(call: SystemCall, path: string): number {
  return call("openat2", currentDirectory, path, new BigUint64Array([BigInt(pathOnly | closeOnExec), 0n, BigInt(noLinks)]), 24);
}

export function errorName(result: number): string {
  return Object.entries(constants.errno).find(([, number]) => number === -result)?.[0] ?? `error ${-result}`;
}

/** Text with a terminating zero. */
export function cString(text: string): Uint8Array {
  return Buffer.from(`${text}\0`);
}

/** A null-terminated array of pointers. The caller must keep `retained` alive as long as it is used. */
export function cStrings(texts: string[]): { pointers: BigUint64Array; retained: Uint8Array[] } {
  const retained = texts.map(cString);
  return { pointers: new BigUint64Array([...retained.map((bytes) => BigInt(ptr(bytes))), 0n]), retained };
}

function toWord(argument: Argument, retained: NodeJS.TypedArray[]): number | bigint {
  if (argument === null) return 0;
  if (typeof argument === "number" || typeof argument === "bigint") return argument;
  const bytes = typeof argument === "string" ? cString(argument) : argument;
  retained.push(bytes);
  return ptr(bytes);
}

function openLibrary() {
  const machineWord = "i64" as const;
  for (const library of libraries) {
    try {
      const { symbols } = dlopen(library, {
        syscall: {
          args: [machineWord, machineWord, machineWord, machineWord, machineWord, machineWord, machineWord],
          returns: machineWord,
        },
        __errno_location: { args: [], returns: "ptr" },
        signal: { args: ["i32", "ptr"], returns: "ptr" },
      });
      return { syscall: symbols.syscall, errno: symbols.__errno_location, signal: symbols.signal };
    } catch {
      continue;
    }
  }
  throw new Error("the C library can't be loaded");
}
