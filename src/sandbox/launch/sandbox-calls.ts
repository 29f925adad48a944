// Writes the list of system calls that puts a process into its sandbox and then executes a program. Decides and reads
// everything beforehand, outside of the sandbox. A path that changed in between makes a call fail, and nothing is started.
import { readFileSync } from "node:fs";
import { release } from "node:os";
import type { LaunchRequest } from "../launch-request.ts";
import { sendListeningSocket } from "../namespace-port.ts";
import { CallList } from "./call-list.ts";
import { restrictPaths } from "./landlock.ts";
import { mountView } from "./mounts.ts";
import { currentDirectory } from "./open-real.ts";
import { type Arch, type FilterOptions, filterProgram } from "./seccomp.ts";

/** PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP, PR_CAP_AMBIENT and PR_CAP_AMBIENT_CLEAR_ALL. */
const prctl = { setParentDeathSignal: 1, setNoNewPrivileges: 38, dropBoundingCapability: 24, ambient: 47, clearAmbient: 4 };
const signals = { pipe: 13, kill: 9, terminate: 15, fileSize: 25 };
const capability = { chown: 0, dacOverride: 1, fowner: 3 };
const rlimit = { core: 4, processes: 6 };
const namespace = { mount: 0x2_0000, ipc: 0x800_0000, user: 0x1000_0000, pid: 0x2000_0000, net: 0x4000_0000 };
const mountFlag = { noSuid: 2, noDev: 4, noExec: 8, recursive: 0x4000, private: 0x4_0000 };
const seccompSetFilter = 1;
const closeRangeOnExec = 4;
const capabilityVersion3 = 0x2008_0522;
const inetFamily = 2;
const datagram = 2;
const setInterfaceFlags = 0x8914;
/** IFF_UP and IFF_RUNNING. */
const interfaceUp = 0x41;
const writeOnly = 1;

export type SandboxCallsOptions = {
  /** Whether the list also creates the namespaces. Otherwise `unshare` has started the launcher in them. */
  createsNamespaces: boolean;
};

export function createSandboxCalls(request: LaunchRequest, { createsNamespaces }: SandboxCallsOptions): CallList {
  const { rules, tier, cwd, hasUserNamespace, command } = request;
  const list = new CallList();
  const hasMounts = tier === "namespaces";
  if (createsNamespaces) prepareProcess(list, request);
  writeFile(list, "/proc/self/oom_score_adj", "500");
  // A core dump would reach the machine's own handler, outside of the sandbox.
  list.call("prlimit", [0, rlimit.core, limitOf(0), 0], "forbid core dumps", "ignore");
  if (hasMounts) {
    if (rules.net === "off") raiseLoopback(list);
    if (rules.net === "off" && rules.port !== undefined) sendListeningSocket(list, rules.port);
    limitProcesses(list, rules.maxProcesses);
    if (hasUserNamespace) limitInotify(list);
    mountView(list, rules);
  }
  list.call("chdir", [cwd], `change to ${cwd}`);
  list.call("prctl", [prctl.setNoNewPrivileges, 1], "give up new privileges");
  restrictPaths(list, rules, { hasMounts, version: request.landlockVersion });
  dropCapabilities(list, rules.keepsOwnerRights ? [capability.chown, capability.dacOverride, capability.fowner] : []);
  // A network namespace has no network to reach. Without one, only the gateway's port may be reached, by TCP.
  const inetSockets = hasMounts || rules.net === "on";
  installFilter(list, { unixSockets: rules.unixSockets, inetSockets, onlyTcp: !inetSockets && rules.port !== undefined });
  list.call("closeRange", [3, -1, closeRangeOnExec], "close inherited files");
  list.execute(command[0]!);
  return list;
}

/** Ends the process with skein, and creates its namespaces as `unshare` does. */
function prepareProcess(list: CallList, { rules, tier, hasUserNamespace }: LaunchRequest): void {
  // Ignored signals would stay ignored in the program that is executed.
  for (const signal of [signals.pipe, signals.fileSize])
    list.call("rtSigaction", [signal, new Uint8Array(32), 0, 8], "reset a signal", "ignore");
  const dieWithParent = (signal: number) => list.call("prctl", [prctl.setParentDeathSignal, signal], "end with skein");
  // Without a pid namespace the executor gets SIGTERM, to end its processes itself.
  if (tier !== "namespaces") return dieWithParent(signals.terminate);
  dieWithParent(signals.kill);
  const flags =
    namespace.mount | namespace.pid | namespace.ipc | (rules.net === "off" ? namespace.net : 0) | (hasUserNamespace ? namespace.user : 0);
  list.call("unshare", [flags], "create namespaces");
  if (hasUserNamespace) {
    mapUser(list);
    // New credentials remove the signal.
    dieWithParent(signals.kill);
  }
  list.call("mount", ["none", "/", 0, mountFlag.recursive | mountFlag.private, 0], "make mounts private");
  list.fork();
  list.call("mount", ["none", "/proc", 0, mountFlag.recursive | mountFlag.private, 0], "make /proc private");
  list.call("mount", ["proc", "/proc", "proc", mountFlag.noSuid | mountFlag.noExec | mountFlag.noDev, 0], "mount /proc");
}

/** The user and the group are the same inside and outside. */
function mapUser(list: CallList): void {
  const [user, group] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
  writeFile(list, "/proc/self/setgroups", "deny");
  writeFile(list, "/proc/self/uid_map", `${user} ${user} 1`, "map the user");
  writeFile(list, "/proc/self/gid_map", `${group} ${group} 1`, "map the group");
}

/** Writes an existing file. Without `what` a failure is ignored. */
function writeFile(list: CallList, path: string, text: string, what?: string): void {
  const onError = what === undefined ? "ignore" : undefined;
  const file = list.open("openat", [currentDirectory, path, writeOnly, 0], what ?? "", onError);
  list.call("write", [file, text, Buffer.byteLength(text)], what ?? "", onError);
  list.close(file);
}

/** A new network namespace has a loopback interface, but it is down. */
function raiseLoopback(list: CallList): void {
  const socket = list.open("socket", [inetFamily, datagram, 0], "create a socket");
  const request = Buffer.alloc(40);
  request.write("lo");
  request.writeUInt16LE(interfaceUp, 16);
  list.call("ioctl", [socket, setInterfaceFlags, request], "raise the loopback");
  list.close(socket);
}

/** Limits the number of processes per user. Since Linux 6.14 also limits the pids of the namespace, which applies to root too. */
function limitProcesses(list: CallList, max: number): void {
  list.call("prlimit", [0, rlimit.processes, limitOf(max), 0], "limit processes", "ignore");
  const [major = 0, minor = 0] = release().split(".").map(Number);
  if (major < 6 || (major === 6 && minor < 14)) return;
  // If it fails, the limit above and the limit of the executor still apply.
  writeFile(list, "/proc/sys/kernel/pid_max", String(max));
}

/**
 * Leaves half of the user's inotify instances and watches to programs outside: the kernel counts those of the sandbox
 * for the same user. Only a user namespace can have such a limit, so there is none for root, which has no user namespace.
 */
function limitInotify(list: CallList): void {
  for (const name of ["instances", "watches"]) {
    const max = readNumber(`/proc/sys/fs/inotify/max_user_${name}`);
    // Only a protection against exhaustion. The kernel may have no such limit.
    if (max !== null) writeFile(list, `/proc/sys/user/max_inotify_${name}`, String(Math.ceil(max / 2)));
  }
}

function readNumber(path: string): number | null {
  try {
    const value = Number(readFileSync(path, "utf8"));
    return Number.isNaN(value) ? null : value;
  } catch {
    return null;
  }
}

function dropCapabilities(list: CallList, retained: number[]): void {
  for (let number = 0; number < 64; number += 1)
    if (!retained.includes(number)) list.call("prctl", [prctl.dropBoundingCapability, number], "", "ignore");
  list.call("prctl", [prctl.ambient, prctl.clearAmbient], "", "ignore");
  const bits = retained.reduce((sum, number) => sum | (1 << number), 0);
  const header = bytesOf(new Uint32Array([capabilityVersion3, 0]));
  list.call("capset", [header, bytesOf(new Uint32Array([bits, bits, 0, 0, 0, 0]))], "drop capabilities");
}

function installFilter(list: CallList, options: FilterOptions): void {
  const program = filterProgram(process.arch as Arch, options);
  const socketFilter = list.data(bytesOf(new BigUint64Array([BigInt(program.length / 8), 0n])));
  list.storePointer({ offset: socketFilter.offset + 8 }, list.data(program));
  list.call("seccomp", [seccompSetFilter, 0, socketFilter], "install the filter");
}

function limitOf(max: number): Uint8Array {
  return bytesOf(new BigUint64Array([BigInt(max), BigInt(max)]));
}

function bytesOf(numbers: Uint32Array | BigUint64Array): Uint8Array {
  return new Uint8Array(numbers.buffer);
}
