import { describe, expect, test } from "bun:test";
import { type Arch, filterProgram, forbiddenCalls, type FilterOptions } from "./seccomp.ts";

const audit = { x64: 0xc000003e, arm64: 0xc00000b7 };
const open: FilterOptions = { unixSockets: true, inetSockets: true };
const shut: FilterOptions = { unixSockets: false, inetSockets: false };
const isolated: FilterOptions = { unixSockets: false, inetSockets: true };
const onePort: FilterOptions = { ...shut, onlyTcp: true };

type Call = { arch?: number; number: number; args?: number[] };
type Verdict = "allow" | "kill" | `fails with ${number}`;

/** What the kernel would do with the program: the instructions that it uses, and no others. */
function verdictOf(program: Uint8Array, { arch, number, args = [] }: Call & { arch: number }): Verdict {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number >>> 0, true);
  data.setUint32(4, arch, true);
  args.forEach((value, at) => data.setBigUint64(16 + 8 * at, BigInt.asUintN(64, BigInt(value)), true));
  const code = new DataView(program.buffer, program.byteOffset, program.byteLength);
  let loaded = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const [operation, jt, jf, k] = [
      code.getUint16(at * 8, true),
      code.getUint8(at * 8 + 2),
      code.getUint8(at * 8 + 3),
      code.getUint32(at * 8 + 4, true),
    ];
    const jump = (holds: boolean) => (at += holds ? jt : jf);
    if (operation === 0x20) loaded = data.getUint32(k, true);
    else if (operation === 0x15) jump(loaded === k);
    else if (operation === 0x35) jump(loaded >= k);
    else if (operation === 0x45) jump((loaded & k) !== 0);
    else if (operation === 0x06) return k === 0x7fff0000 ? "allow" : k === 0x80000000 ? "kill" : `fails with ${k & 0xffff}`;
    else throw new Error(`instruction ${operation} at ${at}`);
  }
  throw new Error("the program ends without a verdict");
}

/** Name, number on x64 and arm64, arguments, options, verdict. */
const rows: [string, number, number, number[], FilterOptions, Verdict][] = [
  ["read", 0, 63, [], shut, "allow"],
  ["execve", 59, 221, [], shut, "allow"],
  ["kill", 62, 129, [], shut, "allow"],
  ["mount", 165, 40, [], open, "fails with 1"],
  ["umount2", 166, 39, [], open, "fails with 1"],
  ["chroot", 161, 51, [], open, "fails with 1"],
  ["setns", 308, 268, [], open, "fails with 1"],
  ["mount_setattr", 442, 442, [], open, "fails with 1"],
  ["open_by_handle_at", 304, 265, [], open, "fails with 1"],
  ["pidfd_getfd", 438, 438, [], open, "fails with 1"],
  ["bpf", 321, 280, [], open, "fails with 1"],
  ["keyctl", 250, 219, [], open, "fails with 1"],
  ["kexec_load", 246, 104, [], open, "fails with 1"],
  ["clone3", 435, 435, [], open, "fails with 38"],
  ["io_uring_setup", 425, 425, [], open, "fails with 38"],
  ["clone of a thread", 56, 220, [0x3d0f00], shut, "allow"],
  ["clone of a process", 56, 220, [0x11], shut, "allow"],
  ["clone with a user namespace", 56, 220, [0x10000011], shut, "fails with 1"],
  ["clone with a mount namespace", 56, 220, [0x20011], shut, "fails with 1"],
  ["unshare of files", 272, 97, [0x400], shut, "allow"],
  ["unshare of users", 272, 97, [0x10000000], shut, "fails with 1"],
  ["unshare of the network", 272, 97, [0x40000000], shut, "fails with 1"],
  ["unshare of the time", 272, 97, [0x80], shut, "fails with 1"],
  ["ioctl that asks for a window size", 16, 29, [0, 0x5413], shut, "allow"],
  ["ioctl that types into a terminal", 16, 29, [0, 0x5412], shut, "fails with 1"],
  ["the same with something in the upper half", 16, 29, [0, 0x1_0000_5412], shut, "fails with 1"],
  ["ioctl that pastes into a console", 16, 29, [0, 0x541c], shut, "fails with 1"],
  ["a unix socket, not requested", 41, 198, [1, 1, 0], isolated, "fails with 13"],
  ["a unix socket, requested", 41, 198, [1, 1, 0], open, "allow"],
  ["a pair of sockets", 53, 199, [1, 1, 0], shut, "allow"],
  ["a pair that closes on exec", 53, 199, [1, 0x80801, 0], shut, "allow"],
  ["a pair that keeps sequences", 53, 199, [1, 5, 0], shut, "allow"],
  ["a pair of datagram sockets, which could send elsewhere", 53, 199, [1, 0x80002, 0], shut, "fails with 13"],
  ["a pair of raw sockets, which are the same", 53, 199, [1, 3, 0], isolated, "fails with 13"],
  ["a pair of datagram sockets if unix sockets are allowed", 53, 199, [1, 2, 0], open, "allow"],
  ["an IPv4 socket in a network namespace", 41, 198, [2, 1, 0], isolated, "allow"],
  ["an IPv4 socket without one", 41, 198, [2, 1, 0], shut, "fails with 13"],
  ["an IPv6 socket without one", 41, 198, [10, 1, 0], shut, "fails with 13"],
  ["TCP where one port is left open", 41, 198, [2, 0x80801, 6], onePort, "allow"],
  ["TCP over IPv6, the same", 41, 198, [10, 1, 0], onePort, "allow"],
  ["a datagram socket, the same", 41, 198, [2, 2, 0], onePort, "fails with 13"],
  ["a raw socket, the same", 41, 198, [2, 3, 0], onePort, "fails with 13"],
  ["a stream over another protocol, the same", 41, 198, [2, 1, 262], onePort, "fails with 13"],
  ["a unix socket, the same", 41, 198, [1, 1, 0], onePort, "fails with 13"],
  ["sendto on a connection", 44, 206, [3, 0, 0, 0x4000], onePort, "allow"],
  ["sendto that connects by itself", 44, 206, [3, 0, 0, 0x2000_4000], onePort, "fails with 1"],
  ["sendmsg that connects by itself", 46, 211, [3, 0, 0x2000_0000], onePort, "fails with 1"],
  ["sendmmsg that connects by itself", 307, 269, [3, 0, 1, 0x2000_0000], onePort, "fails with 1"],
  ["sendto that connects by itself, in a network namespace", 44, 206, [3, 0, 0, 0x2000_0000], isolated, "allow"],
  ["listen, which needs no bind, where one port is left open", 50, 201, [3, 5], onePort, "fails with 13"],
  ["listen in a network namespace", 50, 201, [3, 5], isolated, "allow"],
  ["netlink for routes", 41, 198, [16, 3, 0], shut, "allow"],
  ["netlink for anything else", 41, 198, [16, 3, 9], open, "fails with 13"],
  ["a packet socket", 41, 198, [17, 3, 0], open, "fails with 13"],
  ["vsock", 41, 198, [40, 1, 0], open, "fails with 13"],
  ["a family in the upper half", 41, 198, [0x1_0000_0028, 1, 0], open, "fails with 13"],
];

describe.each(["x64", "arm64"] as Arch[])("on %s", (arch) => {
  test.each(rows)("the filter decides: %s", (_, x64, arm64, args, options, verdict) => {
    const call = { arch: audit[arch], number: arch === "x64" ? x64 : arm64, args };
    expect(verdictOf(filterProgram(arch, options), call)).toBe(verdict);
  });

  test("a system call of another machine type kills the process", () => {
    for (const other of [0x40000003, 0x40000028, arch === "x64" ? audit.arm64 : audit.x64])
      expect(verdictOf(filterProgram(arch, open), { arch: other, number: 0 })).toBe("kill");
  });

  test("32-bit calls of x64 and negative numbers fail with ENOSYS", () => {
    for (const number of [0x4000_0000 + 165, 0x4000_0000, -1])
      expect(verdictOf(filterProgram(arch, open), { arch: audit[arch], number })).toBe("fails with 38");
  });

  test("every number up to 1000 gets a verdict, and most are allowed", () => {
    const program = filterProgram(arch, shut);
    const verdicts = Array.from({ length: 1000 }, (_, number) => verdictOf(program, { arch: audit[arch], number }));
    const denied = verdicts.filter((verdict) => verdict !== "allow").length;
    // `socket` is denied for its arguments, which are zero here. Two calls exist only on x64.
    expect(denied).toBe(forbiddenCalls().length + 1 - (arch === "x64" ? 0 : 2));
  });
});
