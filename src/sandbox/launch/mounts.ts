// Builds the file system of a sandboxed process from mounts: everything read-only, writable paths on top, secrets
// covered, devices replaced. Its calls run in a private mount namespace, before the other restrictions.
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { sessionTagPaths, sessionTagText } from "../enclosing-session.ts";
import type { PathRule, SandboxRules } from "../rules.ts";
import type { CallList, OnError, Result } from "./call-list.ts";
import { currentDirectory, openReal } from "./open-real.ts";

// Flags of the kernel: O_PATH, OPEN_TREE_CLONE, AT_RECURSIVE, AT_EMPTY_PATH, O_CLOEXEC, and MOVE_MOUNT_F_EMPTY_PATH with
// MOVE_MOUNT_T_EMPTY_PATH.
const pathOnly = 0o10000000;
const cloneTree = 1;
const recursive = 0x8000;
const emptyPath = 0x1000;
const closeOnExec = 0o2000000;
/** O_WRONLY, O_CREAT and O_EXCL. */
const createForWriting = 0o301;
const moveToFile = 4 | 0x40;
const attribute = { readOnly: 1, noSuid: 2, noDev: 4 };
const flag = { noSuid: 2, noDev: 4, noExec: 8 };
/** Files that are open in the launcher beside the clones of mounts. */
const otherFiles = 64;

const devices = ["null", "zero", "full", "random", "urandom", "tty"];

export function mountView(list: CallList, sandbox: SandboxRules): void {
  const view = new View(list, sandbox);
  const isMountable = ({ path, access }: PathRule) => path !== sep && !isWithin(path, "/dev") && (access !== "none" || exists(path));
  const rules = sandbox.rules.filter(isMountable);
  const emptyFile = makeEmptyFile(sandbox.copies);
  const trees = new Map(
    rules.filter(({ access }) => access !== "scratch").map((rule) => [rule, view.clone(rule.access === "none" ? emptyFile : rule.path)]),
  );
  const nodes = devices.map((name) => ({ name, tree: view.clone(join("/dev", name)) }));
  const copiesTree = view.clone(sandbox.copies);
  const coveredPaths = rules.filter(({ access }) => access === "none").map(({ path }) => path);

  view.restrict("/", attribute.readOnly | attribute.noSuid | attribute.noDev, recursive);
  view.devices(nodes);
  if (sandbox.sessionTag !== undefined) view.writeFile(sessionTagPaths.file, sessionTagText(sandbox.sessionTag), 0o444);
  view.attach(sandbox.copies, copiesTree, false);
  // Opened before anything is covered: the copies are in skein's own directory, which is hidden.
  const scratchPaths = rules.filter(({ access }) => access === "scratch").map(({ path }) => path);
  const overlayFiles = new Map(
    scratchPaths.map((path, index) => [path, view.openCopies(path, otherFiles + rules.length + devices.length + 3 * index)]),
  );
  for (const rule of rules) {
    if (rule.access === "scratch") view.overlay(rule.path, overlayFiles.get(rule.path)!);
    else if (rule.access === "none") view.cover(rule.path, trees.get(rule)!, hasRuleBelow(rules, rule));
    else {
      const changed = rules.find(({ path, access }) => changesContent(access) && path !== rule.path && isWithin(rule.path, path));
      if (changed !== undefined) view.makeMountPoint(rule.path, changed.path);
      view.attach(rule.path, trees.get(rule)!, rule.access === "read");
    }
  }
  for (const path of ["/dev", ...coveredPaths]) view.restrict(path, attribute.readOnly, 0, path === "/dev" ? undefined : "ignore-missing");
}

class View {
  readonly #list: CallList;
  readonly #sandbox: SandboxRules;

  constructor(list: CallList, sandbox: SandboxRules) {
    this.#list = list;
    this.#sandbox = sandbox;
  }

  /** Clones the mount at a path, to attach it later. */
  clone(path: string, onError?: OnError): Result {
    const file = openReal(this.#list, path, onError);
    const flags = cloneTree | recursive | emptyPath | closeOnExec;
    const tree = this.#list.open("openTree", [file, "", flags], `clone ${path}`, onError);
    this.#list.close(file);
    return tree;
  }

  attach(path: string, tree: Result, isReadOnly: boolean): void {
    this.#move(tree, path);
    this.restrict(path, attribute.noSuid | attribute.noDev | (isReadOnly ? attribute.readOnly : 0), recursive);
  }

  restrict(path: string, attributes: number, flags: number, onError?: OnError): void {
    const bytes = () => new Uint8Array(new BigUint64Array([BigInt(attributes), 0n, 0n, 0n]).buffer);
    const request = this.#list.constant(`attributes ${attributes}`, bytes);
    this.#list.call("mountSetattr", [currentDirectory, path, flags, request, 32], `restrict ${path}`, onError);
  }

  /**
   * Covers a path with an empty directory or file that can't be opened. `isPassable` lets visible paths below be reached.
   * A path that is missing by now needs no cover.
   */
  cover(path: string, emptyTree: Result, isPassable: boolean): void {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
      const options = `size=64k,nr_inodes=64,mode=${isPassable ? "0711" : "0000"}`;
      this.#mount("tmpfs", path, { flags: flag.noSuid | flag.noDev | flag.noExec, options, onError: "ignore-missing" });
      this.#list.close(emptyTree);
    } else this.#move(emptyTree, path, "ignore-missing");
  }

  /** Opens the private directories of an overlay as three file numbers from `firstFile` on, above those of all other open files. */
  openCopies(path: string, firstFile: number): number {
    const { upper, work } = makeCopyDirectories(this.#sandbox.copies, path);
    [upper, work].forEach((directory, index) => this.#openAs(directory, firstFile + 1 + index));
    return firstFile;
  }

  /** Mounts an overlay, so that changes go to a private directory. Without overlays /tmp is private and the rest read-only. */
  overlay(path: string, firstFile: number): void {
    this.#openAs(path, firstFile);
    const options = ["lowerdir", "upperdir", "workdir"].map((name, index) => `${name}=/proc/self/fd/${firstFile + index}`);
    const mountWith = (extra: string[]) => {
      const text = [...options, ...extra].join(",");
      return this.#list.open("mount", ["overlay", path, "overlay", flag.noSuid | flag.noDev, text], "", "ignore");
    };
    const first = mountWith(["userxattr"]);
    this.#list.ifFailed(first, () => {
      const second = mountWith([]);
      if (path === "/tmp") this.#list.ifFailed(second, () => this.attach(path, this.clone(this.#sandbox.temp), false));
    });
  }

  /** Creates what is missing of a mount point below a covered directory or an overlay. Both lack other mounts below them. */
  makeMountPoint(path: string, changedDirectory: string): void {
    const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? true;
    for (const parent of pathsBetween(changedDirectory, isDirectory ? path : dirname(path))) {
      this.#list.call("mkdirat", [currentDirectory, parent, 0o755], `create ${parent}`, "ignore-existing");
    }
    if (!isDirectory) this.writeFile(path, "", 0o644, "ignore-existing");
  }

  writeFile(path: string, text: string, mode: number, onError?: OnError): void {
    const file = this.#list.open("openat", [currentDirectory, path, createForWriting, mode], `create ${path}`, onError);
    if (text !== "") this.#list.call("write", [file, text, Buffer.byteLength(text)], `write ${path}`);
    this.#list.close(file);
  }

  /** Mounts a /dev with harmless devices and private terminals. */
  devices(nodes: { name: string; tree: Result }[]): void {
    this.#mount("tmpfs", "/dev", { flags: flag.noSuid | flag.noExec, options: "size=64k,nr_inodes=64,mode=0755" });
    for (const { name, tree } of nodes) {
      this.writeFile(join("/dev", name), "", 0o644);
      this.#move(tree, join("/dev", name));
    }
    for (const directory of ["/dev/pts", "/dev/shm"]) {
      this.#list.call("mkdirat", [currentDirectory, directory, 0o755], `create ${directory}`);
    }
    this.#mount("devpts", "/dev/pts", { flags: flag.noSuid | flag.noExec, options: "newinstance,ptmxmode=0666,mode=620" });
    const links = { ptmx: "pts/ptmx", fd: "/proc/self/fd", stdin: "/proc/self/fd/0", stdout: "/proc/self/fd/1", stderr: "/proc/self/fd/2" };
    for (const [name, target] of Object.entries(links)) {
      this.#list.call("symlinkat", [target, currentDirectory, `/dev/${name}`], `create /dev/${name}`);
    }
    // Both are limited: its files use memory that no process has mapped, and each name uses memory of the kernel.
    this.#mount("tmpfs", "/dev/shm", { flags: flag.noSuid | flag.noDev, options: "mode=1777,size=25%,nr_inodes=65536" });
  }

  /** The options of a mount name files by number, so the number must be known. */
  #openAs(directory: string, number: number): void {
    const file = this.#list.open("openat", [currentDirectory, directory, pathOnly, 0], `open ${directory}`);
    this.#list.call("dup3", [file, number, closeOnExec], `open ${directory}`);
    this.#list.close(file);
  }

  #move(tree: Result, path: string, onError?: OnError): void {
    const target = openReal(this.#list, path, onError);
    this.#list.call("moveMount", [tree, "", target, "", moveToFile], `mount ${path}`);
    this.#list.close(target);
    this.#list.close(tree);
  }

  #mount(type: string, path: string, { flags, options, onError }: { flags: number; options: string; onError?: OnError }): void {
    this.#list.call("mount", [type, path, type, flags, options], `mount ${type} at ${path}`, onError);
  }
}

/** The directories below `from`, down to `to`. */
function pathsBetween(from: string, to: string): string[] {
  return to === from || to.length < from.length ? [] : [...pathsBetween(from, dirname(to)), to];
}

function makeEmptyFile(directory: string): string {
  const path = join(directory, "nothing");
  if (!exists(path)) writeFileSync(path, "", { mode: 0 });
  return path;
}

function makeCopyDirectories(directory: string, original: string): { upper: string; work: string } {
  const name = Bun.hash(original).toString(16);
  const [upper, work] = ["upper", "work"].map((part) => join(directory, name, part)) as [string, string];
  for (const path of [upper, work]) mkdirSync(path, { recursive: true });
  return { upper, work };
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Whether a directory with this access has other content inside the sandbox. */
function changesContent(access: PathRule["access"]): boolean {
  return access === "none" || access === "scratch";
}

function hasRuleBelow(rules: PathRule[], rule: PathRule): boolean {
  return rules.some((other) => other !== rule && isWithin(other.path, rule.path));
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory + sep);
}
