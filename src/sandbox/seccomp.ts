// The filter of system calls as a program for the kernel: what could undo the walls from inside, and what reaches
// past them. Pure: two machine types, one table.

const arches = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
} as const;

export type Arch = keyof typeof arches;

export type FilterOptions = {
  unixSockets: boolean;
  /** Whether the machine's own network can be seen: without a namespace, "off" means no such sockets at all. */
  inetSockets: boolean;
  /** No such sockets but for TCP, which Landlock bounds. */
  onlyTcp?: boolean;
};

const permission = 1;
const access = 13;
const missing = 38;

/** Never allowed: name, number on x64 and on arm64 (null where there is none). */
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

/** Programs do without these when they seem not to exist; the filter could not look into their arguments. */
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
/** Each with the place of its flags. */
const sends = [
  { numbers: [44, 206], flags: 3 },
  { numbers: [46, 211], flags: 2 },
  { numbers: [307, 269], flags: 3 },
] as const;

/** mount, cgroup, uts, ipc, user, pid and net namespaces */
const newNamespaces = 0x7e02_0000;
const newTimeNamespace = 0x80;
const terminalInput = [0x5412, 0x541c];
/** Datagram and raw, and not stream nor sequence: what has no end to stay connected to can be sent anywhere. */
const unconnected = 0x2;
/** Connects without a call that Landlock could look at. */
const fastOpen = 0x2000_0000;
const family = { unix: 1, inet: 2, inet6: 10, netlink: 16 };

const load = 0x20;
const jumpEqual = 0x15;
const jumpAtLeast = 0x35;
const jumpSet = 0x45;
const giveBack = 0x06;
const allow = 0x7fff_0000;
const kill = 0x8000_0000;
const fail = (error: number) => 0x0005_0000 | error;

type Instruction = { code: number; k: number; jt?: number; jf?: number };

export function filterProgram(arch: Arch, wishes: FilterOptions): Uint8Array {
  const { audit, column } = arches[arch];
  const program: Instruction[] = [
    { code: load, k: 4 },
    { code: jumpEqual, k: audit, jt: 1 },
    { code: giveBack, k: kill },
    { code: load, k: 0 },
    // The 32-bit calls of x64 have numbers of their own.
    { code: jumpAtLeast, k: 0x4000_0000, jf: 1 },
    { code: giveBack, k: fail(missing) },
    ...absent.flatMap((row) => failOn(row[column === 0 ? 1 : 2], missing)),
    ...forbidden.flatMap(([, x64, arm64]) => failOn(column === 0 ? x64 : arm64, permission)),
    ...whenEqual(clone[column], [{ code: load, k: argument(0) }, ...failOnBits(newNamespaces)]),
    ...whenEqual(unshare[column], [{ code: load, k: argument(0) }, ...failOnBits(newNamespaces | newTimeNamespace)]),
    ...whenEqual(ioctl[column], [{ code: load, k: argument(1) }, ...terminalInput.flatMap((request) => failOn(request, permission))]),
    ...(wishes.onlyTcp ? sends : []).flatMap(({ numbers, flags }) =>
      whenEqual(numbers[column], [{ code: load, k: argument(flags) }, ...failOnBits(fastOpen)]),
    ),
    ...whenEqual(socket[column], socketRules(wishes)),
    ...(wishes.unixSockets ? [] : whenEqual(socketPair[column], [{ code: load, k: argument(1) }, ...failOnBits(unconnected, access)])),
    { code: giveBack, k: allow },
  ];
  return encode(program);
}

/** Names of what the filter never lets through, for the documents. */
export function forbiddenCalls(): string[] {
  return [...forbidden, ...absent].map(([name]) => name);
}

/** Only families that are asked for; of netlink only the one that lists interfaces and routes. */
function socketRules(wishes: FilterOptions): Instruction[] {
  const inet = [family.inet, family.inet6];
  const families = [...(wishes.unixSockets ? [family.unix] : []), ...(wishes.inetSockets ? inet : [])];
  return [
    { code: load, k: argument(0) },
    ...(wishes.onlyTcp ? inet.flatMap((one) => whenEqual(one, plainTcp)) : []),
    ...families.flatMap((one) => [
      { code: jumpEqual, k: one, jf: 1 },
      { code: giveBack, k: allow },
    ]),
    { code: jumpEqual, k: family.netlink, jt: 1 },
    { code: giveBack, k: fail(access) },
    { code: load, k: argument(2) },
    { code: jumpEqual, k: 0, jt: 1 },
    { code: giveBack, k: fail(access) },
  ];
}

/** A stream over TCP alone: its relatives are none of Landlock's business. */
const plainTcp: Instruction[] = [
  { code: load, k: argument(1) },
  ...failOnBits(0xe, access),
  { code: jumpSet, k: 1, jt: 1 },
  { code: giveBack, k: fail(access) },
  { code: load, k: argument(2) },
  { code: jumpEqual, k: 0, jt: 2 },
  { code: jumpEqual, k: 6, jt: 1 },
  { code: giveBack, k: fail(access) },
];

/** What is compared is loaded before, and still after when it was another; what `then` does not end is allowed. */
function whenEqual(number: number, then: Instruction[]): Instruction[] {
  return [{ code: jumpEqual, k: number, jf: then.length + 1 }, ...then, { code: giveBack, k: allow }];
}

function failOn(value: number | null, error: number): Instruction[] {
  if (value === null) return [];
  return [
    { code: jumpEqual, k: value, jf: 1 },
    { code: giveBack, k: fail(error) },
  ];
}

function failOnBits(bits: number, error: number = permission): Instruction[] {
  return [
    { code: jumpSet, k: bits, jf: 1 },
    { code: giveBack, k: fail(error) },
  ];
}

/** The low half of an argument. */
function argument(at: number): number {
  return 16 + 8 * at;
}

function encode(program: Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, k, jt, jf }, at) => {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(jt ?? 0, at * 8 + 2);
    bytes.writeUInt8(jf ?? 0, at * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, at * 8 + 4);
  });
  return bytes;
}
