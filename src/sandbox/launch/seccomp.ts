// Builds the seccomp filter: a program for the kernel that refuses system calls which could undo or bypass the sandbox.
// Pure, for two machine types, from one table.

const arches = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
} as const;

export type Arch = keyof typeof arches;

export type FilterOptions = {
  unixSockets: boolean;
  /** Whether internet sockets are allowed. Without a network namespace, a network that is off means none at all. */
  inetSockets: boolean;
  /** No internet sockets except TCP, which Landlock limits to one port. */
  onlyTcp?: boolean;
};

const permission = 1;
const access = 13;
const missing = 38;

/** Calls that always fail with EPERM: name, number on x64, number on arm64 (null if it does not exist there). */
const forbidden: [string, number | null, number | null][] = [
  ["mount", 165, 40],
  ["umount2", 166, 39],
  ["pivot_root", 155, 41],
  ["chroot", 161, 51],
  ["setns", 308, 268],
  ["open_tree", 428, 428],
  ["move_mount", 429, 429],
  ["fsopen", 430, 430],
  ["fsconfig", 431, 431],
  ["fsmount", 432, 432],
  ["fspick", 433, 433],
  ["mount_setattr", 442, 442],
  ["open_tree_attr", 467, 467],
  ["open_by_handle_at", 304, 265],
  ["pidfd_getfd", 438, 438],
  ["fanotify_init", 300, 262],
  ["bpf", 321, 280],
  ["perf_event_open", 298, 241],
  ["userfaultfd", 323, 282],
  ["keyctl", 250, 219],
  ["add_key", 248, 217],
  ["request_key", 249, 218],
  ["kcmp", 312, 272],
  ["init_module", 175, 105],
  ["finit_module", 313, 273],
  ["delete_module", 176, 106],
  ["kexec_load", 246, 104],
  ["kexec_file_load", 320, 294],
  ["reboot", 169, 142],
  ["swapon", 167, 224],
  ["swapoff", 168, 225],
  ["acct", 163, 89],
  ["quotactl", 179, 60],
  ["quotactl_fd", 443, 443],
  ["settimeofday", 164, 170],
  ["clock_settime", 227, 112],
  ["sethostname", 170, 161],
  ["setdomainname", 171, 162],
  ["syslog", 103, 116],
  ["vhangup", 153, 58],
  ["iopl", 172, null],
  ["ioperm", 173, null],
];

/** Calls that fail with ENOSYS, because the filter can't read their arguments. Programs then use older calls. */
const absent: [string, number, number][] = [
  ["clone3", 435, 435],
  ["io_uring_setup", 425, 425],
  ["io_uring_enter", 426, 426],
  ["io_uring_register", 427, 427],
];

const clone = [56, 220] as const;
const unshare = [272, 97] as const;
const socket = [41, 198] as const;
const socketPair = [53, 199] as const;
const ioctl = [16, 29] as const;
const listen = [50, 201] as const;
/** `flags` is the index of the argument with the flags. */
const sends = [
  { numbers: [44, 206], flags: 3 },
  { numbers: [46, 211], flags: 2 },
  { numbers: [307, 269], flags: 3 },
] as const;

/** mount, cgroup, uts, ipc, user, pid and net namespaces */
const newNamespaces = 0x7e02_0000;
const newTimeNamespace = 0x80;
const terminalInput = [0x5412, 0x541c];
/** The bit of datagram and raw sockets, which are not connected and can send anywhere. */
const unconnected = 0x2;
/** TCP fast open connects without a call that Landlock checks. */
const fastOpen = 0x2000_0000;
const family = { unix: 1, inet: 2, inet6: 10, netlink: 16 };

const load = 0x20;
const jumpEqual = 0x15;
const jumpAtLeast = 0x35;
const jumpSet = 0x45;
const returnValue = 0x06;
const allow = 0x7fff_0000;
const kill = 0x8000_0000;
const fail = (error: number) => 0x0005_0000 | error;

type Instruction = { code: number; k: number; jt?: number; jf?: number };

export function filterProgram(arch: Arch, options: FilterOptions): Uint8Array {
  const { audit, column } = arches[arch];
  const program: Instruction[] = [
    { code: load, k: 4 },
    { code: jumpEqual, k: audit, jt: 1 },
    { code: returnValue, k: kill },
    { code: load, k: 0 },
    // The 32-bit calls of x64 have separate numbers.
    { code: jumpAtLeast, k: 0x4000_0000, jf: 1 },
    { code: returnValue, k: fail(missing) },
    ...absent.flatMap((row) => failOn(row[column === 0 ? 1 : 2], missing)),
    ...forbidden.flatMap(([, x64, arm64]) => failOn(column === 0 ? x64 : arm64, permission)),
    ...whenEqual(clone[column], [{ code: load, k: argument(0) }, ...failOnBits(newNamespaces)]),
    ...whenEqual(unshare[column], [{ code: load, k: argument(0) }, ...failOnBits(newNamespaces | newTimeNamespace)]),
    ...whenEqual(ioctl[column], [{ code: load, k: argument(1) }, ...terminalInput.flatMap((request) => failOn(request, permission))]),
    ...(options.onlyTcp ? sends : []).flatMap(({ numbers, flags }) =>
      whenEqual(numbers[column], [{ code: load, k: argument(flags) }, ...failOnBits(fastOpen)]),
    ),
    // A socket that listens without `bind` gets a port on every address, and Landlock checks only `bind`.
    ...(options.onlyTcp ? failOn(listen[column], access) : []),
    ...whenEqual(socket[column], socketRules(options)),
    ...(options.unixSockets ? [] : whenEqual(socketPair[column], [{ code: load, k: argument(1) }, ...failOnBits(unconnected, access)])),
    { code: returnValue, k: allow },
  ];
  return encode(program);
}

/** Names of the calls that always fail, for the documents. */
export function forbiddenCalls(): string[] {
  return [...forbidden, ...absent].map(([name]) => name);
}

/** Allows only the requested socket families, and of netlink only the protocol that lists interfaces and routes. */
function socketRules(options: FilterOptions): Instruction[] {
  const inet = [family.inet, family.inet6];
  const families = [...(options.unixSockets ? [family.unix] : []), ...(options.inetSockets ? inet : [])];
  return [
    { code: load, k: argument(0) },
    ...(options.onlyTcp ? inet.flatMap((inetFamily) => whenEqual(inetFamily, plainTcp)) : []),
    ...families.flatMap((allowed) => [
      { code: jumpEqual, k: allowed, jf: 1 },
      { code: returnValue, k: allow },
    ]),
    { code: jumpEqual, k: family.netlink, jt: 1 },
    { code: returnValue, k: fail(access) },
    { code: load, k: argument(2) },
    { code: jumpEqual, k: 0, jt: 1 },
    { code: returnValue, k: fail(access) },
  ];
}

/** Allows a stream socket only for TCP. Landlock does not limit other stream protocols. */
const plainTcp: Instruction[] = [
  { code: load, k: argument(1) },
  // Only type 1 (a stream) remains: the bits of all other socket types fail.
  ...failOnBits(0xe, access),
  { code: jumpSet, k: 1, jt: 1 },
  { code: returnValue, k: fail(access) },
  { code: load, k: argument(2) },
  // Protocol 0 is the default, which is TCP; 6 is TCP.
  { code: jumpEqual, k: 0, jt: 2 },
  { code: jumpEqual, k: 6, jt: 1 },
  { code: returnValue, k: fail(access) },
];

/** Runs `then` if the loaded value equals `number`. If `then` does not return, the call is allowed. */
function whenEqual(number: number, then: Instruction[]): Instruction[] {
  return [{ code: jumpEqual, k: number, jf: then.length + 1 }, ...then, { code: returnValue, k: allow }];
}

function failOn(value: number | null, error: number): Instruction[] {
  if (value === null) return [];
  return [
    { code: jumpEqual, k: value, jf: 1 },
    { code: returnValue, k: fail(error) },
  ];
}

function failOnBits(bits: number, error: number = permission): Instruction[] {
  return [
    { code: jumpSet, k: bits, jf: 1 },
    { code: returnValue, k: fail(error) },
  ];
}

/** The offset of the low half of an argument. */
function argument(index: number): number {
  return 16 + 8 * index;
}

function encode(program: Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, k, jt, jf }, index) => {
    const offset = index * 8;
    bytes.writeUInt16LE(code, offset);
    bytes.writeUInt8(jt ?? 0, offset + 2);
    bytes.writeUInt8(jf ?? 0, offset + 3);
    bytes.writeUInt32LE(k >>> 0, offset + 4);
  });
  return bytes;
}
