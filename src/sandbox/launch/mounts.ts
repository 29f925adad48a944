// Builds the file system of a sandboxed process from mounts: everything read-only, writable paths on top, secrets
// covered, devices replaced. Runs in a private mount namespace, before the other restrictions.
import { closeSync, mkdirSync, openSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { errorName, openReal, type SystemCall } from "./syscalls.ts";
import type { PathRule, SandboxRules } from "../rules.ts";
import { sessionTagPaths, sessionTagText } from "../enclosing-session.ts";

// Flags of the kernel: AT_FDCWD, O_PATH, OPEN_TREE_CLONE, AT_RECURSIVE, AT_EMPTY_PATH, O_CLOEXEC, and
// MOVE_MOUNT_F_EMPTY_PATH with MOVE_MOUNT_T_EMPTY_PATH.
const currentDirectory = -100;
const pathOnly = 0o10000000;
const cloneTree = 1;
const recursive = 0x8000;
const emptyPath = 0x1000;
const closeOnExec = 0o2000000;
const moveToFile = 4 | 0x40;
const attribute = { readOnly: 1, noSuid: 2, noDev: 4 };
const flag = { noSuid: 2, noDev: 4, noExec: 8 };

const devices = ["null", "zero", "full", "random", "urandom", "tty"];

/** Throws if the file system can't be built as the rules require. */
export function mountView(call: SystemCall, sandbox: SandboxRules): void {
  const view = new View(call);
  const isMountable = ({ path, access }: PathRule) =>
    path !== sep && !isWithin(path, "/dev") && (access !== "none" || statSync(path, { throwIfNoEntry: false }) !== undefined);
  const rules = sandbox.rules.filter(isMountable);
  const cover = emptyFile(sandbox.copies);
  const trees = new Map(rules.map((rule) => [rule, view.clone(rule.access === "none" ? cover : rule.path)]));
  const nodes = devices.map((name) => ({ name, tree: view.clone(join("/dev", name)) }));
  const copiesTree = view.clone(sandbox.copies);

  view.restrict("/", attribute.readOnly | attribute.noSuid | attribute.noDev, recursive);
  view.devices(nodes);
  if (sandbox.sessionTag !== undefined) writeFileSync(sessionTagPaths.file, sessionTagText(sandbox.sessionTag), { mode: 0o444 });
  view.attach(sandbox.copies, copiesTree, false);
  const copies = rules.filter((rule) => rule.access === "scratch").map((rule) => ({ rule, ...copyOf(sandbox.copies, rule.path) }));
  const coveredPaths: string[] = [];
  for (const rule of rules) {
    const tree = trees.get(rule)!;
    if (rule.access === "none") coveredPaths.push(...view.cover(rule.path, tree, hasRuleBelow(rules, rule)));
    else if (rule.access === "scratch")
      view.copy(
        rule.path,
        copies.find((copy) => copy.rule === rule)!,
        sandbox.temp,
      );
    else view.attach(rule.path, tree, rule.access === "read");
  }
  for (const path of ["/dev", ...coveredPaths]) view.restrict(path, attribute.readOnly, 0);
  for (const { upper, work } of copies) [upper, work].forEach((file) => closeSync(file));
}

class View {
  readonly #call: SystemCall;

  constructor(call: SystemCall) {
    this.#call = call;
  }

  /** Clones the mount at a path, to attach it later. */
  clone(path: string): number {
    const file = this.#need(openReal(this.#call, path), `open ${path}`);
    const tree = this.#need(this.#call("openTree", file, "", cloneTree | recursive | emptyPath | closeOnExec), `clone ${path}`);
    closeSync(file);
    return tree;
  }

  attach(path: string, tree: number, isReadOnly: boolean): void {
    makeMountPoint(path, tree);
    this.#move(tree, path);
    this.restrict(path, attribute.noSuid | attribute.noDev | (isReadOnly ? attribute.readOnly : 0), recursive);
  }

  restrict(path: string, attributes: number, flags: number): void {
    const request = new BigUint64Array([BigInt(attributes), 0n, 0n, 0n]);
    this.#need(this.#call("mountSetattr", currentDirectory, path, flags, request, 32), `restrict ${path}`);
  }

  /** Covers a path with an empty directory or file that can't be opened. `isPassable` lets visible paths below be reached. */
  cover(path: string, emptyTree: number, isPassable: boolean): string[] {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return [];
    if (!stat.isDirectory()) {
      this.#move(emptyTree, path);
      return [path];
    }
    this.#mount("tmpfs", path, flag.noSuid | flag.noDev | flag.noExec, `size=64k,nr_inodes=64,mode=${isPassable ? "0711" : "0000"}`);
    return [path];
  }

  /** Mounts an overlay, so that changes go to a private directory. Without overlays /tmp is private and the rest read-only. */
  copy(path: string, { upper, work }: { upper: number; work: number }, temp: string): void {
    const lower = openSync(path, pathOnly);
    const fdPath = (file: number) => `/proc/self/fd/${file}`;
    const options = `lowerdir=${fdPath(lower)},upperdir=${fdPath(upper)},workdir=${fdPath(work)}`;
    const attempts = [`${options},userxattr`, options];
    const isMounted = attempts.some((attempt) => this.#call("mount", "overlay", path, "overlay", flag.noSuid | flag.noDev, attempt) === 0);
    closeSync(lower);
    if (!isMounted && path === "/tmp") this.attach(path, this.clone(temp), false);
  }

  /** Mounts a /dev with harmless devices and private terminals. */
  devices(nodes: { name: string; tree: number }[]): void {
    this.#mount("tmpfs", "/dev", flag.noSuid | flag.noExec, "size=64k,nr_inodes=64,mode=0755");
    for (const { name, tree } of nodes) {
      writeFileSync(join("/dev", name), "");
      this.#move(tree, join("/dev", name));
    }
    for (const directory of ["/dev/pts", "/dev/shm"]) mkdirSync(directory);
    this.#mount("devpts", "/dev/pts", flag.noSuid | flag.noExec, "newinstance,ptmxmode=0666,mode=620");
    symlinkSync("pts/ptmx", "/dev/ptmx");
    ["fd", "stdin", "stdout", "stderr"].forEach((name, index) =>
      symlinkSync(`/proc/self/fd${index === 0 ? "" : `/${index - 1}`}`, `/dev/${name}`),
    );
    // Both are limited: its files use memory that no process has mapped, and each name uses memory of the kernel.
    this.#mount("tmpfs", "/dev/shm", flag.noSuid | flag.noDev, "mode=1777,size=25%,nr_inodes=65536");
  }

  #move(tree: number, path: string): void {
    const target = this.#need(openReal(this.#call, path), `open ${path}`);
    this.#need(this.#call("moveMount", tree, "", target, "", moveToFile), `mount ${path}`);
    closeSync(target);
  }

  #mount(type: string, path: string, flags: number, options: string): void {
    this.#need(this.#call("mount", type, path, type, flags, options), `mount ${type} at ${path}`);
  }

  #need(result: number, what: string): number {
    if (result < 0) throw new Error(`can't ${what}: ${errorName(result)}`);
    return result;
  }
}

/** Creates the mount point for a visible path inside a covered directory. */
function makeMountPoint(path: string, tree: number): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  if (statSync(`/proc/self/fd/${tree}`).isDirectory()) mkdirSync(path, { recursive: true });
  else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "");
  }
}

function emptyFile(directory: string): string {
  const path = join(directory, "nothing");
  if (statSync(path, { throwIfNoEntry: false }) === undefined) writeFileSync(path, "", { mode: 0 });
  return path;
}

function copyOf(directory: string, original: string): { upper: number; work: number } {
  const name = Bun.hash(original).toString(16);
  const [upper, work] = ["upper", "work"].map((part) => join(directory, name, part)) as [string, string];
  for (const path of [upper, work]) mkdirSync(path, { recursive: true });
  return { upper: openSync(upper, pathOnly), work: openSync(work, pathOnly) };
}

function hasRuleBelow(rules: PathRule[], rule: PathRule): boolean {
  return rules.some((other) => other !== rule && isWithin(other.path, rule.path));
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory + sep);
}
