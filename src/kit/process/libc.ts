// Calls of the C library that Bun does not offer: one pipe for two streams, adopting orphans, refusing to be
// traced, file locks.
// Loaded on first use, in about 3 ms. Null if it can't be loaded; callers then work without it.

export type Libc = {
  /** Both ends close on exec. */
  pipe: () => { read: number; write: number } | null;
  /** Orphaned descendants become children of this process. Linux only. */
  adoptOrphans: () => boolean;
  /**
   * Calls `start` while the soft limit of message queues has a value that belongs to `number`. Programs do not change
   * this limit, so every descendant of the started process inherits the value. `tag` is null if the limit can't be set.
   */
  withRlimitTag: <T>(number: number, start: () => T) => { result: T; tag: number | null };
  /**
   * Other processes of the user can't trace this one or read its memory, environment and open files. Not inherited by
   * executed programs. `name` is shown by /proc instead of the program's. False if the system can't. Linux only.
   */
  refuseTracing: (name: string) => boolean;
  reap: (pid: number) => void;
  /** Locks an open file without waiting, until it is closed or this process ends. False if another process has the lock. */
  lock: (file: number) => boolean;
};

/** The values of `withRlimitTag`. They are below the default of the systems. */
export const rlimitTags = { start: 410_000, end: 819_200 };

let isAdopting = false;

/** Whether orphaned descendants become children of this process. */
export function adoptsOrphans(): boolean {
  return isAdopting;
}

let loading: Promise<Libc | null> | undefined;

export function loadLibc(): Promise<Libc | null> {
  loading ??= open().catch(() => null);
  return loading;
}

const libraries =
  process.platform === "darwin"
    ? ["libSystem.B.dylib"]
    : ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];

const closeOnExec = 0o2000000;
const setChildSubreaper = 36;
const setDumpable = 4;
const setName = 15;
const noHang = 1;
const exclusiveNonBlocking = 2 | 4;
const messageQueueLimit = 12;

async function open(): Promise<Libc | null> {
  const { dlopen, ptr } = await import("bun:ffi");
  const isLinux = process.platform === "linux";
  for (const library of libraries) {
    try {
      const { symbols } = dlopen(library, {
        pipe: { args: ["ptr"], returns: "i32" },
        waitpid: { args: ["i32", "ptr", "i32"], returns: "i32" },
        flock: { args: ["i32", "i32"], returns: "i32" },
      });
      const linux = isLinux
        ? dlopen(library, {
            pipe2: { args: ["ptr", "i32"], returns: "i32" },
            prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
            prlimit: { args: ["i32", "i32", "ptr", "ptr"], returns: "i32" },
          }).symbols
        : null;
      return {
        pipe: () => {
          const ends = new Int32Array(2);
          const failed = linux ? linux.pipe2(ptr(ends), closeOnExec) : symbols.pipe(ptr(ends));
          return failed ? null : { read: ends[0]!, write: ends[1]! };
        },
        adoptOrphans: () => (isAdopting = linux?.prctl(setChildSubreaper, 1n, 0n, 0n, 0n) === 0),
        refuseTracing: (name) => {
          linux?.prctl(setName, BigInt(ptr(Buffer.from(`${name}\0`))), 0n, 0n, 0n);
          return linux?.prctl(setDumpable, 0n, 0n, 0n, 0n) === 0;
        },
        withRlimitTag: (number, start) => {
          const old = new BigUint64Array(2);
          const setLimit = (soft: bigint) => linux?.prlimit(0, messageQueueLimit, ptr(new BigUint64Array([soft, old[1]!])), null) === 0;
          const canTag = linux?.prlimit(0, messageQueueLimit, null, ptr(old)) === 0 && old[1]! >= BigInt(rlimitTags.end);
          const tag = rlimitTags.end - 1 - (number % (rlimitTags.end - rlimitTags.start));
          if (!canTag || !setLimit(BigInt(tag))) return { result: start(), tag: null };
          try {
            return { result: start(), tag };
          } finally {
            setLimit(old[0]!);
          }
        },
        reap: (pid) => void symbols.waitpid(pid, null, noHang),
        lock: (file) => symbols.flock(file, exclusiveNonBlocking) === 0,
      };
    } catch {
      continue;
    }
  }
  return null;
}
