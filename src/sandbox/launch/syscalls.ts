// The numbers of system calls that Bun does not offer, on both machine types, and the names of errors.
import { constants } from "node:os";

const numbers = {
  x64: {
    mount: 165,
    prctl: 157,
    capset: 126,
    seccomp: 317,
    prlimit: 302,
    socket: 41,
    bind: 49,
    listen: 50,
    sendmsg: 46,
    ioctl: 16,
    close: 3,
    write: 1,
    openat: 257,
    mkdirat: 258,
    mknodat: 259,
    symlinkat: 266,
    dup3: 292,
    unshare: 272,
    chdir: 80,
    rtSigaction: 13,
  },
  arm64: {
    mount: 40,
    prctl: 167,
    capset: 91,
    seccomp: 277,
    prlimit: 261,
    socket: 198,
    bind: 200,
    listen: 201,
    sendmsg: 211,
    ioctl: 29,
    close: 57,
    write: 64,
    openat: 56,
    mkdirat: 34,
    mknodat: 33,
    symlinkat: 36,
    dup3: 24,
    unshare: 97,
    chdir: 49,
    rtSigaction: 134,
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

const byName: Readonly<Record<CallName, number>> = { ...numbers[process.arch as "x64" | "arm64"], ...commonNumbers };

export function callNumber(name: CallName): number {
  return byName[name];
}

export function errorName(result: number): string {
  return Object.entries(constants.errno).find(([, number]) => number === -result)?.[0] ?? `error ${-result}`;
}
