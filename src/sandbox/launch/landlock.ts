// Restricts a process and its descendants with Landlock: the paths they may read and write, and without a network
// namespace the network. Signals and abstract sockets stay inside the sandbox. It can only remove rights.
import { lstatSync } from "node:fs";
import { basename, dirname, sep } from "node:path";
import type { PathRule, SandboxRules } from "../rules.ts";
import type { CallList, Result } from "./call-list.ts";
import { openReal } from "./open-real.ts";
import type { RawCalls } from "./raw-call.ts";
import { callNumber } from "./syscalls.ts";

const queryVersion = 1;

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
/** The rights to bind and to connect. */
const tcp = 0b11n;
const connectTcp = 0b10n;
const scopes = 0b11n;
export const pathRule = 1;
const portRule = 2;

const writableDevices = ["null", "zero", "full", "tty"].map((name) => `/dev/${name}`);
const readableDevices = ["random", "urandom"].map((name) => `/dev/${name}`);

/** 0 if the kernel has no Landlock. */
export function landlockVersion({ call }: RawCalls): number {
  return Math.max(0, call(callNumber("landlockCreate"), [0, 0, queryVersion]));
}

/**
 * Landlock limits reading in addition to mounts. A mount over a file disappears when a program outside replaces the file, and
 * a secret that is created later has no mount.
 */
export function restrictPaths(list: CallList, rules: SandboxRules, { hasMounts, version }: LandlockOptions): void {
  // Mounts protect the same paths. Version 1 would forbid moving files between directories.
  if (hasMounts && version < 2) return;
  if (!hasMounts && version < 3) throw new Error(`Landlock is at version ${version}; 3 is needed`);
  const handled = (reading | writing | (version >= 5 ? right.deviceControl : 0n)) & supportedRights(version);
  const limitsNet = rules.net === "off" && !hasMounts;
  if (limitsNet && rules.port !== undefined && version < 4) throw new Error(`Landlock is at version ${version}; one port needs 4`);
  const netRights = version >= 4 && limitsNet ? tcp : 0n;
  const attributes = new BigUint64Array([handled, netRights, version >= 6 ? scopes : 0n]);
  const size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const ruleset = list.open("landlockCreate", [new Uint8Array(attributes.buffer), size, 0], "create a ruleset of Landlock");
  const allow = (path: string, rights: bigint) => allowPath(list, ruleset, path, rights & handled);
  const all = reading | writing | right.deviceControl;
  for (const { path, access } of rules.rules) {
    if (access === "write" || (access === "scratch" && hasMounts)) allow(path, all);
  }
  if (hasMounts) allow("/dev", all);
  else {
    for (const path of writableDevices) allow(path, all);
    for (const path of readableDevices) allow(path, reading);
  }
  const { paths, directories } = readablePaths(rules.rules);
  for (const path of paths) allow(path, reading);
  const entryRules = {
    ruleset,
    forDirectory: list.data(pathRuleBytes(reading & handled)),
    forFile: list.data(pathRuleBytes(reading & handled & onFiles)),
  };
  for (const { path, except } of directories) list.allowEntries(path, except, entryRules);
  for (const path of parentPathsOf(rules.rules)) allow(path, right.readDir);
  if (limitsNet && rules.port !== undefined) {
    const attribute = new BigUint64Array([connectTcp, BigInt(rules.port)]);
    list.call("landlockAdd", [ruleset, portRule, new Uint8Array(attribute.buffer), 0], "allow a port by Landlock");
  }
  list.call("landlockRestrict", [ruleset, 0], "restrict itself by Landlock");
  list.close(ruleset);
}

/** `version` is 0 if the kernel has no Landlock. */
export type LandlockOptions = { hasMounts: boolean; version: number };

/** `directories` have secrets below them. All their entries are readable except for the named ones. */
export type ReadablePaths = { paths: string[]; directories: { path: string; except: string[] }[] };

/** Every path that does not lead to a secret. Landlock can only allow, so the entries beside a secret are allowed one by one. */
export function readablePaths(rules: PathRule[]): ReadablePaths {
  const hidden = new Set([...rules.filter((rule) => rule.access === "none").map((rule) => rule.path), "/dev"]);
  const visible = rules.filter((rule) => rule.access !== "none").map((rule) => rule.path);
  const paths: string[] = [];
  const exceptions = new Map<string, Set<string>>();
  for (const secret of hidden) {
    paths.push(...visible.filter((path) => path !== secret && isWithin(path, secret)));
    for (let path = secret; path !== sep; path = dirname(path)) {
      const names = exceptions.get(dirname(path)) ?? new Set();
      names.add(basename(path));
      exceptions.set(dirname(path), names);
    }
  }
  const directories = [...exceptions].map(([path, names]) => ({ path, except: [...names] }));
  return {
    // A visible path with a secret below it is among the directories.
    paths: paths.filter((path) => !exceptions.has(path)),
    directories: directories.filter(({ path }) => !isHidden(path, hidden, visible)),
  };
}

/** Whether the longest rule for a path hides it. */
function isHidden(path: string, hidden: ReadonlySet<string>, visible: string[]): boolean {
  for (let parent = path; ; parent = dirname(parent)) {
    if (hidden.has(parent)) return true;
    if (visible.includes(parent)) return false;
    if (parent === sep) return false;
  }
}

/** The parents of secrets. They can be listed, because otherwise the files beside a secret could not be found. */
function parentPathsOf(rules: PathRule[]): string[] {
  const hidden = [...rules.filter((rule) => rule.access === "none").map((rule) => rule.path), "/dev/null"];
  const parents = new Set<string>();
  for (const path of hidden) {
    const parts = path.split(sep).slice(1, -1);
    parts.forEach((_, index) => parents.add(sep + parts.slice(0, index + 1).join(sep)));
  }
  return [sep, ...parents];
}

/** A path that is missing by now is not allowed. One that is now a link, or no directory any more, ends the launcher. */
function allowPath(list: CallList, ruleset: Result, path: string, rights: bigint): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || stat.isSymbolicLink()) return;
  const file = openReal(list, path, "ignore");
  const allowed = stat.isDirectory() ? rights : rights & onFiles;
  const place = list.constant(`rights ${allowed}`, () => pathRuleBytes(allowed));
  list.storeResult({ offset: place.offset + 8 }, file);
  // The kernel reads four arguments. With the last one the call is skipped if the path could not be opened.
  list.call("landlockAdd", [ruleset, pathRule, place, 0, 0, file], `allow ${path} by Landlock`);
  list.close(file);
}

function supportedRights(version: number): bigint {
  return (1n << BigInt([0, 13, 14, 15, 15, 16][Math.min(version, 5)]!)) - 1n;
}

/** The structure of a rule for a path. The launcher fills in the file. */
function pathRuleBytes(rights: bigint): Uint8Array {
  const bytes = Buffer.alloc(12);
  bytes.writeBigUInt64LE(rights, 0);
  return bytes;
}

function isWithin(path: string, directory: string): boolean {
  return directory === sep || path === directory || path.startsWith(directory + sep);
}
