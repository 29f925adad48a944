// The last net under the walls: commands that plainly destroy a machine are refused, under every policy. It reads
// what stands in the command and no more; who wants to get past it can, and the walls are what holds then.
import { basename, posix } from "node:path";
import { oneLine } from "../kit/text/cut-text.ts";
import { literal, plainWord, parseScript, type SimpleCommand, unknownValue } from "./parse-script.ts";

/** `cwd` and `home` as the command will see them. */
export type CommandDirectories = { cwd: string; home: string };

/** Why a command is not run, or null. */
export function refuseDestructive(command: string, places: CommandDirectories): string | null {
  const found = inspect(command.slice(0, longestLooked), places, 0);
  if (found === null) return null;
  return `refused: ${found}. skein runs no such command under any policy; a person who wants it can run it themselves`;
}

const deepest = 5;
// Linux gives no program an argument longer than this.
const longestLooked = 128 << 10;

function inspect(text: string, places: CommandDirectories, depth: number): string | null {
  if (depth > deepest) return null;
  const { commands, bare } = parseScript(text);
  if (isForkBomb(bare)) return "this is a fork bomb: it starts processes without end";
  const surroundings: GuardContext = { at: places.cwd, home: /(?:^|[\s;&|(])HOME=/.test(bare) ? null : places.home };
  for (const command of commands) {
    const device = command.writes.map(plainWord).find(isDisk);
    if (device !== undefined) return `it overwrites the device ${device}`;
    const words = withoutWrappers(command.words);
    const program = basename(plainWord(words[0] ?? ""));
    const args = words.slice(1);
    if (program === "cd" || program === "pushd") surroundings.at = placeOf(args.find(isOperand) ?? "~", surroundings);
    const found =
      ruleFor(program)?.(args, surroundings, program) ??
      innerScripts(program, args, command).reduce<string | null>((seen, inner) => seen ?? inspect(inner, places, depth + 1), null);
    if (found !== null) return found;
  }
  return null;
}

/** `at` is where a relative path starts, null when that is not known; `home` null when the command sets its own. */
type GuardContext = { at: string | null; home: string | null };
type Rule = (args: string[], surroundings: GuardContext, program: string) => string | null;

const rules: Record<string, Rule> = {
  rm: (args, surroundings) => {
    if (args.includes("--no-preserve-root")) return "rm with --no-preserve-root is meant to delete /";
    return hasFlag(args, "rR", "recursive") ? onPlace(args, surroundings, "deletes", true) : null;
  },
  chmod: (args, surroundings) =>
    hasFlag(args, "R", "recursive") ? onPlace(args.slice(1), surroundings, "changes the modes of", false) : null,
  chown: (args, surroundings) => (hasFlag(args, "R", "recursive") ? onPlace(args, surroundings, "changes the owner of", false) : null),
  chgrp: (args, surroundings) => (hasFlag(args, "R", "recursive") ? onPlace(args, surroundings, "changes the group of", false) : null),
  find: (args, surroundings) => {
    const start = args.filter((_, index) => args.slice(0, index + 1).every(isOperand));
    const isAll = args.includes("-delete") && args.slice(start.length).every((word) => /^-(delete|depth|xdev|mount)$/.test(word));
    return isAll ? onPlace(start, surroundings, "deletes", true) : null;
  },
  mkfs: (args, _, program) => onDevice(args, `${program} makes a new file system on`),
  dd: (args) => {
    const device = args.map(plainWord).find((word) => word.startsWith("of=") && isDisk(word.slice(3)));
    return device === undefined ? null : `dd overwrites the device ${device.slice(3)}`;
  },
  shred: (args) => onDevice(args, "shred overwrites the device"),
  blkdiscard: (args) => onDevice(args, "blkdiscard empties the device"),
  wipefs: (args) => (hasFlag(args, "ao", "all") ? onDevice(args, "wipefs erases the signatures of") : null),
  tee: (args) => onDevice(args, "tee overwrites the device"),
  cp: (args) => onDevice(args.slice(-1), "cp overwrites the device"),
};

function ruleFor(program: string): Rule | undefined {
  if (/^(mkfs(\..+)?|mke2fs|mkswap)$/.test(program)) return rules["mkfs"];
  return Object.hasOwn(rules, program) ? rules[program] : undefined;
}

function onPlace(args: string[], surroundings: GuardContext, deed: string, isHomeMeant: boolean): string | null {
  for (const word of args.filter(isOperand)) {
    const place = placeOf(word, surroundings);
    if (place === null) continue;
    const shown = oneLine(plainWord(word), 80);
    if (place === "/") return `it ${deed} everything on this machine (${shown})`;
    if (isHomeMeant && place === surroundings.home) return `it ${deed} the whole home directory (${shown})`;
    if (systemPlaces.has(place)) return `it ${deed} a directory the system needs (${shown})`;
  }
  return null;
}

function onDevice(args: string[], deed: string): string | null {
  const device = args.map(plainWord).find(isDisk);
  return device === undefined ? null : `${deed} ${device}`;
}

const systemPlaces = new Set(
  "/bin /boot /dev /etc /home /lib /lib64 /proc /root /sbin /sys /usr /usr/bin /usr/lib /var /Applications /Library /System /Users".split(
    " ",
  ),
);

/** The directory that a word names, itself or by all that is in it; null when only running the command would tell. */
function placeOf(word: string, { at, home }: GuardContext): string | null {
  let path = word;
  if (/^(~|\$HOME)(?=\/|$)/.test(path)) {
    if (home === null) return null;
    path = path.replace(/^(~|\$HOME)/, () => home);
  }
  // All that is in a directory, hidden names too.
  path = path.replace(/(^|\/)(\.?[*?]+|\{\*,\.\*\})\/?$/, (_, start: string) => start || ".");
  if (path.includes(unknownValue) || path.includes("$HOME")) return null;
  if (!path.startsWith("/") && at === null) return null;
  const full = posix.resolve(at ?? "/", path.replaceAll(literal, ""));
  // A pattern or a literal one in the middle is somebody's own business.
  return /[*?[]/.test(full) ? null : full;
}

const disks = /^\/dev\/(?:r?disk\d|[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|md\d|dm-\d|mapper\/|disk\/|block\/|loop\d|nbd\d|sr\d|k?mem$|port$)/;

function isDisk(path: string): boolean {
  return disks.test(posix.normalize(path));
}

function isOperand(word: string): boolean {
  return !word.startsWith("-");
}

function hasFlag(args: string[], letters: string, name: string): boolean {
  return args.some((word) => word === `--${name}` || new RegExp(`^-[a-zA-Z]*[${letters}]`).test(word));
}

/** Programs and words before the program that is meant; the letters are their flags that take a value. */
const wrappers: Record<string, { valued: string; operands?: number }> = {
  sudo: { valued: "ugpChTrtDRU" },
  doas: { valued: "uC" },
  env: { valued: "uCS" },
  command: { valued: "" },
  builtin: { valued: "" },
  exec: { valued: "a" },
  nohup: { valued: "" },
  setsid: { valued: "" },
  time: { valued: "fo" },
  nice: { valued: "n" },
  ionice: { valued: "cnp" },
  stdbuf: { valued: "ioe" },
  timeout: { valued: "sk", operands: 1 },
  busybox: { valued: "" },
  xargs: { valued: "aEILnPsd" },
};
const leading = new Set("if then else elif do while until ! { }".split(" "));

function withoutWrappers(words: string[]): string[] {
  let at = 0;
  for (;;) {
    const word = plainWord(words[at] ?? "");
    const wrapper = Object.hasOwn(wrappers, basename(word)) ? wrappers[basename(word)] : undefined;
    if (leading.has(word) || /^\w+\+?=/.test(word)) at += 1;
    else if (word === "function") at += 2;
    else if (wrapper === undefined) return words.slice(at);
    else {
      at += 1;
      // `command -v` only asks.
      if (word === "command" && /^-[vV]/.test(words[at] ?? "")) return [];
      for (let flag = words[at]; flag?.startsWith("-"); flag = words[at]) {
        at += wrapper.valued.includes(flag.at(-1)!) && !flag.startsWith("--") ? 2 : 1;
      }
      while (/^\w+=/.test(words[at] ?? "")) at += 1;
      at += wrapper.operands ?? 0;
    }
  }
}

const shells = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash", "su"]);

/** Scripts that stand in the command for a shell to run. */
function innerScripts(program: string, args: string[], command: SimpleCommand): string[] {
  if (program === "eval") return [args.map(plainWord).join(" ")];
  if (!shells.has(program)) return [];
  const flag = args.findIndex((word) => /^-[a-z]*c$/.test(word));
  const script = flag === -1 ? undefined : args[flag + 1];
  return script === undefined ? command.inputs : [plainWord(script)];
}

// Bounded, and anchored at the start of a word, so that no text makes the search long.
const definitions =
  /(?<![^\s;&|(){}<>])(?:function\s{1,9}([^\s;&|(){}<>]{1,64})\s{0,9}(?:\(\s{0,9}\))?|([^\s;&|(){}<>]{1,64})\s{0,9}\(\s{0,9}\))\s{0,9}[{(]([^{}]{0,400})[})]/g;

/** A function that starts itself at least twice, in the background or in a pipe, and is called. */
function isForkBomb(bare: string): boolean {
  for (const match of bare.matchAll(definitions)) {
    const name = RegExp.escape((match[1] ?? match[2])!);
    const body = match[3]!;
    const calls = body.match(new RegExp(`(?<=^|[\\s;&|({])${name}(?=\\s*(?:[|&;)]|$))`, "g"))?.length ?? 0;
    if (calls < 2 || !/(?<!&)&(?!&)|(?<!\|)\|(?!\|)/.test(body)) continue;
    const after = bare.slice(match.index + match[0].length);
    if (new RegExp(`(?<=^|[\\s;&|({])${name}(?=[\\s;&|)}]|$)`).test(after)) return true;
  }
  return false;
}
