// The launcher: a process of ours that puts up the walls around itself and then becomes the program it was asked to
// start. It does all that it was told or nothing: a wall that can't be put up ends it with a line that says so.
import { readFileSync, writeFileSync } from "node:fs";
import { ptr } from "bun:ffi";
import { sendListeningSocket } from "./namespace-port.ts";
import { restrictPaths } from "./landlock.ts";
import { mountView } from "./mounts.ts";
import { type Arch, filterProgram } from "./seccomp.ts";
import { cString, cStrings, errorName, openSystemCalls, type SystemCall } from "./syscalls.ts";
import type { SandboxRules } from "./rules.ts";

export type LaunchRequest = {
  rules: SandboxRules;
  tier: "namespaces" | "landlock";
  cwd: string;
  /** The program, found by its absolute path, and its arguments. */
  command: string[];
};

const prctl = { noNewRights: 38, dropFromBounds: 24, ambient: 47, clearAmbient: 4 };
const capability = { chown: 0, override: 1, fowner: 3 };
const processLimit = 6;
const setFilter = 1;
const closeOnExec = 4;

/** Comes back only with what went wrong. */
export function launch(order: LaunchRequest, env: Record<string, string | undefined>): string {
  try {
    const call = openSystemCalls();
    applySandbox(call, order);
    return `can't start ${order.command[0]}: ${errorName(execProgram(call, order.command, env))}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function applySandbox(call: SystemCall, { rules: walls, tier, cwd }: LaunchRequest): void {
  const hasMounts = tier === "namespaces";
  preferAsVictim();
  if (hasMounts) {
    if (walls.net === "off") raiseLoopback(call);
    if (walls.net === "off" && walls.port !== undefined) sendListeningSocket(need, call, walls.port);
    limitProcesses(call, walls.maxProcesses);
    mountView(call, walls);
  }
  process.chdir(cwd);
  need(call("prctl", prctl.noNewRights, 1, 0, 0, 0), "give up new rights");
  restrictPaths(call, walls, hasMounts);
  dropRights(call, walls.keepsOwnerRights ? [capability.chown, capability.override, capability.fowner] : []);
  const inetSockets = hasMounts || walls.net === "on";
  installFilter(call, { unixSockets: walls.unixSockets, inetSockets, onlyTcp: !inetSockets && walls.port !== undefined });
  need(call("closeRange", 3, 0xffff_ffff, closeOnExec), "close what was inherited");
}

function execProgram(call: SystemCall, command: string[], env: Record<string, string | undefined>): number {
  const args = cStrings(command);
  const entries = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  const environment = cStrings(entries);
  return call("execve", cString(command[0]!), args.pointers, environment.pointers);
}

/** When memory runs out the kernel is to end tools before it ends skein. */
function preferAsVictim(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", "500");
  } catch {
    // A preference, not a wall.
  }
}

/** A namespace of its own has a loopback, but it is down. */
function raiseLoopback(call: SystemCall): void {
  const socket = need(call("socket", 2, 2, 0), "make a socket");
  const request = Buffer.alloc(40);
  request.write("lo");
  request.writeUInt16LE(0x41, 16);
  need(call("ioctl", socket, 0x8914, request), "raise the loopback");
  call("close", socket);
}

/** Counted in the namespace alone: by its user, and since Linux 6.14 by its numbers, which holds for root too. */
function limitProcesses(call: SystemCall, most: number): void {
  const limit = new BigUint64Array([BigInt(most), BigInt(most)]);
  call("prlimit", 0, processLimit, limit, null);
  const [major = 0, minor = 0] = readFileSync("/proc/sys/kernel/osrelease", "utf8").split(".").map(Number);
  if (major < 6 || (major === 6 && minor < 14)) return;
  try {
    writeFileSync("/proc/sys/kernel/pid_max", String(most));
  } catch {
    // Then the limit above and the executor's own count hold.
  }
}

function dropRights(call: SystemCall, kept: number[]): void {
  for (let number = 0; number < 64; number += 1) if (!kept.includes(number)) call("prctl", prctl.dropFromBounds, number, 0, 0, 0);
  call("prctl", prctl.ambient, prctl.clearAmbient, 0, 0, 0);
  const bits = kept.reduce((sum, number) => sum | (1 << number), 0);
  const header = new Uint32Array([0x2008_0522, 0]);
  need(call("capset", header, new Uint32Array([bits, bits, 0, 0, 0, 0])), "drop capabilities");
}

function installFilter(call: SystemCall, wishes: Parameters<typeof filterProgram>[1]): void {
  const program = filterProgram(process.arch as Arch, wishes);
  const description = new BigUint64Array([BigInt(program.length / 8), BigInt(ptr(program))]);
  need(call("seccomp", setFilter, 0, description), "install the filter");
}

function need(result: number, what: string): number {
  if (result < 0) throw new Error(`can't ${what}: ${errorName(result)}`);
  return result;
}
