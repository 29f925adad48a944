// Landlock: which paths the process and all it starts may ever write (and, where no mounts can cover secrets, read),
// and that signals and abstract sockets stay among themselves. It only ever takes rights away.
import { closeSync, lstatSync, readdirSync } from "node:fs";
import { join, sep } from "node:path";
import { errorName, openReal, type SystemCall } from "./syscalls.ts";
import type { PathRule, SandboxRules } from "./rules.ts";

const askVersion = 1;

const right = {
  execute: 1n << 0n,
  writeFile: 1n << 1n,
  readFile: 1n << 2n,
  readDir: 1n << 3n,
  /** remove dir and file, make char, dir, reg, sock, fifo, block, sym */
  change: 0b1_1111_1111n << 4n,
  refer: 1n << 13n,
  truncate: 1n << 14n,
  deviceControl: 1n << 15n,
};

const reading = right.execute | right.readFile | right.readDir;
const writing = right.writeFile | right.change | right.refer | right.truncate;
const onFiles = right.execute | right.writeFile | right.readFile | right.truncate | right.deviceControl;
/** To bind a port, and to connect to one. */
const tcp = 0b11n;
const connectTcp = 0b10n;
const scopes = 0b11n;
const pathRule = 1;
const portRule = 2;

const writableDevices = ["null", "zero", "full", "tty"].map((name) => `/dev/${name}`);
const readableDevices = ["random", "urandom"].map((name) => `/dev/${name}`);

/** 0 where the kernel has none. */
function landlockVersion(call: SystemCall): number {
  return Math.max(0, call("landlockCreate", null, 0, askVersion));
}

/** With `mounts` the mounts hide secrets and devices; without them reading is limited here too. */
export function restrictPaths(call: SystemCall, rules: SandboxRules, hasMounts: boolean): void {
  const version = landlockVersion(call);
  // Mounts hold the same by themselves; the first version would forbid moving files between directories.
  if (hasMounts && version < 2) return;
  if (!hasMounts && version < 3) throw new Error(`Landlock is at version ${version}; 3 is needed`);
  const handled = (reading | writing | (version >= 5 ? right.deviceControl : 0n)) & known(version);
  const isNetOurs = rules.net === "off" && !hasMounts;
  if (isNetOurs && rules.port !== undefined && version < 4) throw new Error(`Landlock is at version ${version}; one port needs 4`);
  const forNet = version >= 4 && isNetOurs ? tcp : 0n;
  const attributes = new BigUint64Array([handled, forNet, version >= 6 ? scopes : 0n]);
  const size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const ruleset = need(call("landlockCreate", attributes, size, 0), "make a ruleset");
  const allow = (path: string, rights: bigint) => allowPath(call, ruleset, path, rights & handled);
  const all = reading | writing | right.deviceControl;
  for (const { path, access } of rules.rules) {
    if (access === "write" || (access === "scratch" && hasMounts)) allow(path, all);
  }
  if (hasMounts) {
    allow("/", reading);
    allow("/dev", all);
  } else {
    for (const path of writableDevices) allow(path, all);
    for (const path of [...readablePaths(rules.rules), ...readableDevices]) allow(path, reading);
    for (const path of parentPathsOf(rules.rules)) allow(path, right.readDir);
  }
  if (isNetOurs && rules.port !== undefined) {
    need(call("landlockAdd", ruleset, portRule, new BigUint64Array([connectTcp, BigInt(rules.port)]), 0), "allow a port");
  }
  need(call("landlockRestrict", ruleset, 0), "restrict itself");
  closeSync(ruleset);
}

/** Everything but what leads to a secret: Landlock can only allow, so the entries around it are named one by one. */
export function readablePaths(rules: PathRule[]): string[] {
  const hidden = [...rules.filter((rule) => rule.access === "none").map((rule) => rule.path), "/dev"];
  const leadsTo = (path: string) => hidden.filter((one) => isWithin(one, path));
  const shown = rules.filter((rule) => rule.access !== "none").map((rule) => rule.path);
  const found: string[] = [];
  const visit = (path: string): void => {
    const secrets = leadsTo(path);
    if (secrets.includes(path)) return void found.push(...shown.filter((one) => one !== path && isWithin(one, path)));
    if (secrets.length === 0) return void found.push(path);
    for (const name of namesIn(path)) visit(join(path, name));
  };
  visit(sep);
  return found;
}

/** Directories on the way to a secret can be listed: without that, nothing beside it could be found. */
function parentPathsOf(rules: PathRule[]): string[] {
  const hidden = [...rules.filter((rule) => rule.access === "none").map((rule) => rule.path), "/dev/null"];
  const ways = new Set<string>();
  for (const path of hidden) {
    const parts = path.split(sep).slice(1, -1);
    parts.forEach((_, at) => ways.add(sep + parts.slice(0, at + 1).join(sep)));
  }
  return [sep, ...ways];
}

function allowPath(call: SystemCall, ruleset: number, path: string, rights: bigint): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || stat.isSymbolicLink()) return;
  const file = openReal(call, path);
  if (file < 0) return;
  const bytes = Buffer.alloc(12);
  bytes.writeBigUInt64LE(stat.isDirectory() ? rights : rights & onFiles, 0);
  bytes.writeInt32LE(file, 8);
  need(call("landlockAdd", ruleset, pathRule, bytes, 0), `allow ${path}`);
  closeSync(file);
}

/** Rights that this version knows. */
function known(version: number): bigint {
  return (1n << BigInt([0, 13, 14, 15, 15, 16][Math.min(version, 5)]!)) - 1n;
}

function namesIn(path: string): string[] {
  try {
    return lstatSync(path).isDirectory() ? readdirSync(path) : [];
  } catch {
    return [];
  }
}

function isWithin(path: string, folder: string): boolean {
  return folder === sep || path === folder || path.startsWith(folder + sep);
}

function need(result: number, what: string): number {
  if (result < 0) throw new Error(`Landlock can't ${what}: ${errorName(result)}`);
  return result;
}
