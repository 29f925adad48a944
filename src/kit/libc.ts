// The few calls of the C library that the runtime does not offer: one pipe for two streams, adopting orphans.
// Loaded on first use (about 3 ms); null where it can't be loaded, and callers do without.

export type Libc = {
  /** Both ends close on exec. */
  pipe: () => { read: number; write: number } | null;
  /** Orphans of our descendants become our children. Linux only. */
  adoptOrphans: () => boolean;
  /** Takes a dead child off the table. */
  reap: (pid: number) => void;
};

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
const noHang = 1;

async function open(): Promise<Libc | null> {
  const { dlopen, ptr } = await import("bun:ffi");
  const isLinux = process.platform === "linux";
  for (const library of libraries) {
    try {
      const { symbols } = dlopen(library, {
        pipe: { args: ["ptr"], returns: "i32" },
        waitpid: { args: ["i32", "ptr", "i32"], returns: "i32" },
      });
      const linux = isLinux
        ? dlopen(library, {
            pipe2: { args: ["ptr", "i32"], returns: "i32" },
            prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
          }).symbols
        : null;
      return {
        pipe: () => {
          const ends = new Int32Array(2);
          const failed = linux ? linux.pipe2(ptr(ends), closeOnExec) : symbols.pipe(ptr(ends));
          return failed ? null : { read: ends[0]!, write: ends[1]! };
        },
        adoptOrphans: () => linux?.prctl(setChildSubreaper, 1n, 0n, 0n, 0n) === 0,
        reap: (pid) => void symbols.waitpid(pid, null, noHang),
      };
    } catch {
      continue;
    }
  }
  return null;
}
