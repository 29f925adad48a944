// The view of the file system that a walled process gets, put together from mounts: everything read-only, writable
// places over it, secrets covered, devices replaced. Runs in a mount namespace of its own, before the walls close.
import { closeSync, mkdirSync, openSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { errorName, openReal, type SystemCall } from "./syscalls.ts";
import type { PathRule, SandboxRules } from "./rules.ts";
import { sessionTagPaths, sessionTagText } from "./enclosing-session.ts";

const here = -100;
const pathOnly = 0o10000000;
const cloneTree = 1;
const recursive = 0x8000;
const emptyPath = 0x1000;
const closeOnExec = 0o2000000;
const moveToFile = 4 | 0x40;
const attribute = { readOnly: 1, noSuid: 2, noDev: 4 };
const flag = { noSuid: 2, noDev: 4, noExec: 8 };

const devices = ["null", "zero", "full", "random", "urandom", "tty"];

/** Throws when the view can't be made as the rules say. */
export function mountView(call: SystemCall, walls: SandboxRules): void {
  const view = new View(call);
  const rules = walls.rules.filter((rule) => rule.path !== sep && !isWithin(rule.path, "/dev"));
  const nothing = emptyFile(walls.copies);
  const trees = new Map(rules.map((rule) => [rule, view.take(rule.access === "none" ? nothing : rule.path)]));
  const nodes = devices.map((name) => ({ name, tree: view.take(join("/dev", name)) }));
  const own = view.take(walls.copies);

  view.restrict("/", attribute.readOnly | attribute.noSuid | attribute.noDev, recursive);
  view.devices(nodes);
  if (walls.sessionTag !== undefined) writeFileSync(sessionTagPaths.file, sessionTagText(walls.sessionTag), { mode: 0o444 });
  view.put(walls.copies, own, false);
  const copies = rules.filter((rule) => rule.access === "scratch").map((rule) => ({ rule, ...copyOf(walls.copies, rule.path) }));
  const covers: string[] = [];
  for (const rule of rules) {
    const tree = trees.get(rule)!;
    if (rule.access === "none") covers.push(...view.cover(rule.path, tree, hasBelow(rules, rule)));
    else if (rule.access === "scratch")
      view.copy(
        rule.path,
        copies.find((copy) => copy.rule === rule)!,
        walls.temp,
      );
    else view.put(rule.path, tree, rule.access === "read");
  }
  for (const path of ["/dev", ...covers]) view.restrict(path, attribute.readOnly, 0);
  for (const { upper, work } of copies) [upper, work].forEach((file) => closeSync(file));
}

class View {
  readonly #call: SystemCall;

  constructor(call: SystemCall) {
    this.#call = call;
  }

  /** A copy of what is mounted there now, to be put over something later. */
  take(path: string): number {
    const place = this.#need(openReal(this.#call, path), `open ${path}`);
    const tree = this.#need(this.#call("openTree", place, "", cloneTree | recursive | emptyPath | closeOnExec), `take ${path}`);
    closeSync(place);
    return tree;
  }

  put(path: string, tree: number, isReadOnly: boolean): void {
    makePlace(path, tree);
    this.#move(tree, path);
    this.restrict(path, attribute.noSuid | attribute.noDev | (isReadOnly ? attribute.readOnly : 0), recursive);
  }

  restrict(path: string, attributes: number, reach: number): void {
    const wanted = new BigUint64Array([BigInt(attributes), 0n, 0n, 0n]);
    this.#need(this.#call("mountSetattr", here, path, reach, wanted, 32), `restrict ${path}`);
  }

  /** An empty directory or file that can't be opened. What is shown below it needs a way through. */
  cover(path: string, nothing: number, isThrough: boolean): string[] {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return [];
    if (!stat.isDirectory()) {
      this.#move(nothing, path);
      return [];
    }
    this.#mount("tmpfs", path, flag.noSuid | flag.noDev | flag.noExec, `size=64k,nr_inodes=64,mode=${isThrough ? "0711" : "0000"}`);
    return [path];
  }

  /** Changes go to a directory of their own. Where the kernel can't do that, /tmp is ours alone and the rest stays as it is. */
  copy(path: string, { upper, work }: { upper: number; work: number }, temp: string): void {
    const below = openSync(path, pathOnly);
    const at = (file: number) => `/proc/self/fd/${file}`;
    const options = `lowerdir=${at(below)},upperdir=${at(upper)},workdir=${at(work)}`;
    const tries = [`${options},userxattr`, options];
    const isDone = tries.some((one) => this.#call("mount", "overlay", path, "overlay", flag.noSuid | flag.noDev, one) === 0);
    closeSync(below);
    if (!isDone && path === "/tmp") this.put(path, this.take(temp), false);
  }

  /** Only devices that lead nowhere, and terminals of our own. */
  devices(nodes: { name: string; tree: number }[]): void {
    this.#mount("tmpfs", "/dev", flag.noSuid | flag.noExec, "size=64k,nr_inodes=64,mode=0755");
    for (const { name, tree } of nodes) {
      writeFileSync(join("/dev", name), "");
      this.#move(tree, join("/dev", name));
    }
    for (const folder of ["/dev/pts", "/dev/shm"]) mkdirSync(folder);
    this.#mount("devpts", "/dev/pts", flag.noSuid | flag.noExec, "newinstance,ptmxmode=0666,mode=620");
    symlinkSync("pts/ptmx", "/dev/ptmx");
    ["fd", "stdin", "stdout", "stderr"].forEach((name, at) => symlinkSync(`/proc/self/fd${at === 0 ? "" : `/${at - 1}`}`, `/dev/${name}`));
    this.#mount("tmpfs", "/dev/shm", flag.noSuid | flag.noDev, "mode=1777");
  }

  #move(tree: number, path: string): void {
    const place = this.#need(openReal(this.#call, path), `open ${path}`);
    this.#need(this.#call("moveMount", tree, "", place, "", moveToFile), `put ${path}`);
    closeSync(place);
  }

  #mount(type: string, path: string, flags: number, options: string): void {
    this.#need(this.#call("mount", type, path, type, flags, options), `mount ${type} at ${path}`);
  }

  #need(result: number, what: string): number {
    if (result < 0) throw new Error(`can't ${what}: ${errorName(result)}`);
    return result;
  }
}

/** In a covered directory the place for what is shown there is missing. */
function makePlace(path: string, tree: number): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  if (statSync(`/proc/self/fd/${tree}`).isDirectory()) mkdirSync(path, { recursive: true });
  else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "");
  }
}

function emptyFile(folder: string): string {
  const path = join(folder, "nothing");
  if (statSync(path, { throwIfNoEntry: false }) === undefined) writeFileSync(path, "", { mode: 0 });
  return path;
}

function copyOf(folder: string, original: string): { upper: number; work: number } {
  const own = Bun.hash(original).toString(16);
  const [upper, work] = ["upper", "work"].map((name) => join(folder, own, name)) as [string, string];
  for (const path of [upper, work]) mkdirSync(path, { recursive: true });
  return { upper: openSync(upper, pathOnly), work: openSync(work, pathOnly) };
}

function hasBelow(rules: PathRule[], rule: PathRule): boolean {
  return rules.some((other) => other !== rule && isWithin(other.path, rule.path));
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep);
}
