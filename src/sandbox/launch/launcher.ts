// The launcher: a process that sandboxes itself and then executes the requested program.
// If any restriction can't be applied, it ends with one line that says which, and starts nothing.
import { readFileSync, writeFileSync } from "node:fs";
import { ptr } from "bun:ffi";
import { messageOf } from "../../protocol/api/error.ts";
import { sendListeningSocket } from "../namespace-port.ts";
import { restrictPaths } from "./landlock.ts";
import { mountView } from "./mounts.ts";
import { type LaunchRequest, launchVariable } from "../launch-request.ts";
import { type Arch, type FilterOptions, filterProgram } from "./seccomp.ts";
import { cString, cStrings, errorName, openSystemCalls, type SystemCall } from "./syscalls.ts";

/** PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP, PR_CAP_AMBIENT and PR_CAP_AMBIENT_CLEAR_ALL. */
const prctl = { setNoNewPrivileges: 38, dropBoundingCapability: 24, ambient: 47, clearAmbient: 4 };
const capability = { chown: 0, dacOverride: 1, fowner: 3 };
const rlimit = { core: 4, processes: 6 };
const seccompSetFilter = 1;
const closeRangeOnExec = 4;
const capabilityVersion3 = 0x2008_0522;
const inetFamily = 2;
const datagram = 2;
const setInterfaceFlags = 0x8914;
/** IFF_UP and IFF_RUNNING. */
const interfaceUp = 0x41;

/** Returns only if it failed, with the reason. */
export function launch({ [launchVariable]: text = "", ...env }: Record<string, string | undefined>): string {
  try {
    const request = JSON.parse(text) as LaunchRequest;
    const call = openSystemCalls();
    applySandbox(call, request);
    return `can't start ${request.command[0]}: ${errorName(execProgram(call, request.command, env))}`;
  } catch (error) {
    return messageOf(error);
  }
}

function applySandbox(call: SystemCall, { rules, tier, cwd, hasUserNamespace }: LaunchRequest): void {
  const hasMounts = tier === "namespaces";
  raiseOomScore();
  // A core dump would reach the machine's own handler, outside of the sandbox.
  call("prlimit", 0, rlimit.core, new BigUint64Array([0n, 0n]), null);
  if (hasMounts) {
    if (rules.net === "off") raiseLoopback(call);
    if (rules.net === "off" && rules.port !== undefined) sendListeningSocket(need, call, rules.port);
    limitProcesses(call, rules.maxProcesses);
    if (hasUserNamespace) limitInotify();
    mountView(call, rules);
  }
  process.chdir(cwd);
  need(call("prctl", prctl.setNoNewPrivileges, 1, 0, 0, 0), "give up new privileges");
  restrictPaths(call, rules, hasMounts);
  dropCapabilities(call, rules.keepsOwnerRights ? [capability.chown, capability.dacOverride, capability.fowner] : []);
  // A network namespace has no network to reach. Without one, only the gateway's port may be reached, by TCP.
  const inetSockets = hasMounts || rules.net === "on";
  installFilter(call, { unixSockets: rules.unixSockets, inetSockets, onlyTcp: !inetSockets && rules.port !== undefined });
  need(call("closeRange", 3, 0xffff_ffff, closeRangeOnExec), "close inherited files");
}

function execProgram(call: SystemCall, command: string[], env: Record<string, string | undefined>): number {
  const args = cStrings(command);
  const entries = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  const environment = cStrings(entries);
  return call("execve", cString(command[0]!), args.pointers, environment.pointers);
}

/** If memory runs out, the kernel should kill tools before skein. */
function raiseOomScore(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", "500");
  } catch {
    // Only a preference, not a restriction.
  }
}

/** A new network namespace has a loopback interface, but it is down. */
function raiseLoopback(call: SystemCall): void {
  const socket = need(call("socket", inetFamily, datagram, 0), "create a socket");
  const request = Buffer.alloc(40);
  request.write("lo");
  request.writeUInt16LE(interfaceUp, 16);
  need(call("ioctl", socket, setInterfaceFlags, request), "raise the loopback");
  call("close", socket);
}

/** Limits the number of processes per user. Since Linux 6.14 also limits the pids of the namespace, which applies to root too. */
function limitProcesses(call: SystemCall, max: number): void {
  const limit = new BigUint64Array([BigInt(max), BigInt(max)]);
  call("prlimit", 0, rlimit.processes, limit, null);
  const [major = 0, minor = 0] = readFileSync("/proc/sys/kernel/osrelease", "utf8").split(".").map(Number);
  if (major < 6 || (major === 6 && minor < 14)) return;
  try {
    writeFileSync("/proc/sys/kernel/pid_max", String(max));
  } catch {
    // The limit above and the limit of the executor still apply.
  }
}

/**
 * Leaves half of the user's inotify instances and watches to programs outside: the kernel counts those of the sandbox
 * for the same user. Only a user namespace can have such a limit, so there is none for root, which has no user namespace.
 */
function limitInotify(): void {
  for (const name of ["instances", "watches"]) {
    try {
      const max = Number(readFileSync(`/proc/sys/fs/inotify/max_user_${name}`, "utf8"));
      writeFileSync(`/proc/sys/user/max_inotify_${name}`, String(Math.ceil(max / 2)));
    } catch {
      // Only a protection against exhaustion. The kernel may have no such limit.
    }
  }
}

function dropCapabilities(call: SystemCall, retained: number[]): void {
  for (let number = 0; number < 64; number += 1)
    if (!retained.includes(number)) call("prctl", prctl.dropBoundingCapability, number, 0, 0, 0);
  call("prctl", prctl.ambient, prctl.clearAmbient, 0, 0, 0);
  const bits = retained.reduce((sum, number) => sum | (1 << number), 0);
  const header = new Uint32Array([capabilityVersion3, 0]);
  need(call("capset", header, new Uint32Array([bits, bits, 0, 0, 0, 0])), "drop capabilities");
}

function installFilter(call: SystemCall, options: FilterOptions): void {
  const program = filterProgram(process.arch as Arch, options);
  const socketFilter = new BigUint64Array([BigInt(program.length / 8), BigInt(ptr(program))]);
  need(call("seccomp", seccompSetFilter, 0, socketFilter), "install the filter");
}

/** Throws if a system call failed. */
function need(result: number, what: string): number {
  if (result < 0) throw new Error(`can't ${what}: ${errorName(result)}`);
  return result;
}
