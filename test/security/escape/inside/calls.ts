// System calls by number, for attempts that no library offers. Independent of the sandbox.
import { dlopen, ptr, read } from "bun:ffi";
import { getSystemErrorName } from "node:util";

const numbers = {
  ioctl: [16, 29],
  shmget: [29, 194],
  shmat: [30, 196],
  shmctl: [31, 195],
  socket: [41, 198],
  connect: [42, 203],
  sendto: [44, 206],
  socketpair: [53, 199],
  close: [3, 57],
  ptrace: [101, 117],
  setpriority: [141, 140],
  pivot_root: [155, 41],
  mount: [165, 40],
  umount2: [166, 39],
  swapon: [167, 224],
  reboot: [169, 142],
  init_module: [175, 105],
  setxattr: [188, 5],
  add_key: [248, 217],
  keyctl: [250, 219],
  mknodat: [259, 33],
  perf_event_open: [298, 241],
  fanotify_init: [300, 262],
  prlimit: [302, 261],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  process_vm_readv: [310, 270],
  renameat2: [316, 276],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  pidfd_send_signal: [424, 424],
  io_uring_setup: [425, 425],
  open_tree: [428, 428],
  fsopen: [430, 430],
  pidfd_open: [434, 434],
  pidfd_getfd: [438, 438],
  mount_setattr: [442, 442],
} as const;

type Argument = number | bigint | string | NodeJS.TypedArray | null;

const { symbols } = openLibrary();

/** Returns the result. Throws an error with the name of the errno. */
export function call(name: keyof typeof numbers | number, ...args: Argument[]): number {
  const number = typeof name === "number" ? name : numbers[name][process.arch === "x64" ? 0 : 1];
  const retained: NodeJS.TypedArray[] = [];
  const words = args.map((argument) => toWord(argument, retained));
  while (words.length < 6) words.push(0);
  const [a, b, c, d, e, f] = words as [number, number, number, number, number, number];
  const result = Number(symbols.syscall(number, a, b, c, d, e, f));
  if (result !== -1) return result;
  throw new Error(getSystemErrorName(-read.i32(symbols.__errno_location()!, 0)));
}

/** Returns if the kernel would allow the call: it fails with another error than a missing right. */
export function permitted(...args: Parameters<typeof call>): string {
  try {
    return String(call(...args));
  } catch (error) {
    const { message } = error as Error;
    if (["EPERM", "EACCES", "ENOSYS", "ESRCH", "EAFNOSUPPORT"].includes(message)) throw error;
    return message;
  }
}

/** The address of a unix socket; one that starts with a zero byte is abstract. */
export function unixAddress(path: string): Uint8Array {
  return Buffer.from(`\u0001\0${path}${path.startsWith("\0") ? "" : "\0"}`, "latin1");
}

function toWord(argument: Argument, retained: NodeJS.TypedArray[]): number | bigint {
  if (argument === null) return 0;
  if (typeof argument === "number" || typeof argument === "bigint") return argument;
  const bytes = typeof argument === "string" ? Buffer.from(`${argument}\0`) : argument;
  retained.push(bytes);
  return ptr(bytes);
}

function openLibrary() {
  const anyWord = "i64" as const;
  for (const library of ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"]) {
    try {
      return dlopen(library, {
        syscall: { args: [anyWord, anyWord, anyWord, anyWord, anyWord, anyWord, anyWord], returns: anyWord },
        __errno_location: { args: [], returns: "ptr" },
      });
    } catch {
      continue;
    }
  }
  throw new Error("the C library can't be loaded");
}
