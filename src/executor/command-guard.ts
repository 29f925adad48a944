// Refuses commands that would destroy the machine by accident, under every policy. It only reads the text of the
// command, so it does not stop a determined user. The boundary is the sandbox, not this guard.
import { basename, posix } from "node:path";
import { oneLine } from "../kit/text/cut-text.ts";
import { literal, plainWord, parseScript, type SimpleCommand, unknownValue } from "./parse-script.ts";

export type CommandDirectories = { cwd: string; home: string };

/** The reason why a command is refused; null if it may run. */
export function refuseDestructive(command: string, directories: CommandDirectories): string | null {
  const reason = findReason(command.slice(0, maxScriptLength), directories, 0);
  if (reason === null) return null;
  return `refused: ${reason}. skein runs no such command under any policy; the user can run it outside of skein`;
}

const maxNesting = 5;
/** Linux accepts no longer argument of a program. */
const maxScriptLength = 128 << 10;

function findReason(text: string, directories: CommandDirectories, depth: number): string | null {
  if (depth > maxNesting) return null;
  const { commands, bare } = parseScript(text);
  if (isForkBomb(bare)) return "this is a fork bomb: it starts processes without end";
  const ctx: GuardContext = { cwd: directories.cwd, home: /(?:^|[\s;&|(])HOME=/.test(bare) ? null : directories.home };
  for (const command of commands) {
    const device = command.writes.map(plainWord).find(isDisk);
    if (device !== undefined) return `it overwrites the device ${device}`;
    const [first = "", ...args] = skipWrappers(command.words);
    const program = basename(plainWord(first));
    if (program === "cd" || program === "pushd") ctx.cwd = resolveDirectory(args.find(isOperand) ?? "~", ctx);
    const reason = ruleFor(program)?.(args, ctx, program) ?? null;
    if (reason !== null) return reason;
    for (const script of innerScripts(program, args, command)) {
      const inner = findReason(script, directories, depth + 1);
      if (inner !== null) return inner;
    }
  }
  return null;
}

/** `cwd` is null after `cd` to an unknown directory. `home` is null if the command sets HOME itself. */
type GuardContext = { cwd: string | null; home: string | null };
type Rule = (args: string[], ctx: GuardContext, program: string) => string | null;

const rules: Record<string, Rule> = {
  rm: (args, ctx) => {
    if (args.includes("--no-preserve-root")) return "rm with --no-preserve-root is meant to delete /";
    return hasFlag(args, "rR", "recursive") ? checkPaths(args, ctx, "deletes", true) : null;
  },
  chmod: (args, ctx) => (hasFlag(args, "R", "recursive") ? checkPaths(args.slice(1), ctx, "changes the modes of", false) : null),
  chown: (args, ctx) => (hasFlag(args, "R", "recursive") ? checkPaths(args, ctx, "changes the owner of", false) : null),
  chgrp: (args, ctx) => (hasFlag(args, "R", "recursive") ? checkPaths(args, ctx, "changes the group of", false) : null),
  find: (args, ctx) => {
    const start = args.filter((_, index) => args.slice(0, index + 1).every(isOperand));
    const isAll = args.includes("-delete") && args.slice(start.length).every((word) => /^-(delete|depth|xdev|mount)$/.test(word));
    return isAll ? checkPaths(start, ctx, "deletes", true) : null;
  },
  mkfs: (args, _, program) => checkDevices(args, `${program} makes a new file system on`),
  dd: (args) => {
    const device = args.map(plainWord).find((word) => word.startsWith("of=") && isDisk(word.slice(3)));
    return device === undefined ? null : `dd overwrites the device ${device.slice(3)}`;
  },
  shred: (args) => checkDevices(args, "shred overwrites the device"),
  blkdiscard: (args) => checkDevices(args, "blkdiscard empties the device"),
  wipefs: (args) => (hasFlag(args, "ao", "all") ? checkDevices(args, "wipefs erases the signatures of") : null),
  tee: (args) => checkDevices(args, "tee overwrites the device"),
  cp: (args) => checkDevices(args.slice(-1), "cp overwrites the device"),
};

function ruleFor(program: string): Rule | undefined {
  if (/^(mkfs(\..+)?|mke2fs|mkswap)$/.test(program)) return rules["mkfs"];
  return Object.hasOwn(rules, program) ? rules[program] : undefined;
}

function checkPaths(args: string[], ctx: GuardContext, action: string, includesHome: boolean): string | null {
  for (const word of args.filter(isOperand)) {
    const directory = resolveDirectory(word, ctx);
    if (directory === null) continue;
    const typed = oneLine(plainWord(word), 80);
    if (directory === "/") return `it ${action} everything on this machine (${typed})`;
    if (includesHome && directory === ctx.home) return `it ${action} the whole home directory (${typed})`;
    if (systemDirectories.has(directory)) return `it ${action} a directory the system needs (${typed})`;
  }
  return null;
}

function checkDevices(args: string[], action: string): string | null {
  const device = args.map(plainWord).find(isDisk);
  return device === undefined ? null : `${action} ${device}`;
}

const systemDirectories = new Set(
  "/bin /boot /dev /etc /home /lib /lib64 /proc /root /sbin /sys /usr /usr/bin /usr/lib /var /Applications /Library /System /Users".split(
    " ",
  ),
);

/** The directory that a word names, directly or by a pattern for all its content. Null if it is known only at run time. */
function resolveDirectory(word: string, { cwd, home }: GuardContext): string | null {
  let path = word;
  if (/^(~|\$HOME)(?=\/|$)/.test(path)) {
    if (home === null) return null;
    path = path.replace(/^(~|\$HOME)/, () => home);
  }
  // A pattern for everything in a directory counts as the directory.
  path = path.replace(/(^|\/)(\.?[*?]+|\{\*,\.\*\})\/?$/, (_, start: string) => start || ".");
  if (path.includes(unknownValue) || path.includes("$HOME")) return null;
  if (!path.startsWith("/") && cwd === null) return null;
  const full = posix.resolve(cwd ?? "/", path.replaceAll(literal, ""));
  // Other patterns match only some files.
  return /[*?[]/.test(full) ? null : full;
}

const diskDevices =
  /^\/dev\/(?:r?disk\d|[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|md\d|dm-\d|mapper\/|disk\/|block\/|loop\d|nbd\d|sr\d|k?mem$|port$)/;

function isDisk(path: string): boolean {
  return diskDevices.test(posix.normalize(path));
}

function isOperand(word: string): boolean {
  return !word.startsWith("-");
}

function hasFlag(args: string[], letters: string, name: string): boolean {
  return args.some((word) => word === `--${name}` || new RegExp(`^-[a-zA-Z]*[${letters}]`).test(word));
}

/** Programs that run another program. `valueFlags` are their flags that take a value. */
const wrappers: Record<string, { valueFlags: string; operands?: number }> = {
  sudo: { valueFlags: "ugpChTrtDRU" },
  doas: { valueFlags: "uC" },
  env: { valueFlags: "uCS" },
  command: { valueFlags: "" },
  builtin: { valueFlags: "" },
  exec: { valueFlags: "a" },
  nohup: { valueFlags: "" },
  setsid: { valueFlags: "" },
  time: { valueFlags: "fo" },
  nice: { valueFlags: "n" },
  ionice: { valueFlags: "cnp" },
  stdbuf: { valueFlags: "ioe" },
  timeout: { valueFlags: "sk", operands: 1 },
  busybox: { valueFlags: "" },
  xargs: { valueFlags: "aEILnPsd" },
};
const keywords = new Set("if then else elif do while until ! { }".split(" "));

/** The words from the program that really runs. */
function skipWrappers(words: string[]): string[] {
  let index = 0;
  for (;;) {
    const word = plainWord(words[index] ?? "");
    const wrapper = Object.hasOwn(wrappers, basename(word)) ? wrappers[basename(word)] : undefined;
    if (keywords.has(word) || /^\w+\+?=/.test(word)) index += 1;
    else if (word === "function") index += 2;
    else if (wrapper === undefined) return words.slice(index);
    else {
      index += 1;
      // `command -v` runs nothing.
      if (word === "command" && /^-[vV]/.test(words[index] ?? "")) return [];
      for (let flag = words[index]; flag?.startsWith("-"); flag = words[index]) {
        index += wrapper.valueFlags.includes(flag.at(-1)!) && !flag.startsWith("--") ? 2 : 1;
      }
      while (/^\w+=/.test(words[index] ?? "")) index += 1;
      index += wrapper.operands ?? 0;
    }
  }
}

const shells = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash", "su"]);

/** Scripts in the command that a shell will run. */
function innerScripts(program: string, args: string[], command: SimpleCommand): string[] {
  if (program === "eval") return [args.map(plainWord).join(" ")];
  if (!shells.has(program)) return [];
  const flag = args.findIndex((word) => /^-[a-z]*c$/.test(word));
  const script = flag === -1 ? undefined : args[flag + 1];
  return script === undefined ? command.inputs : [plainWord(script)];
}

// Every repetition is bounded and the start is anchored, so that no text makes the search slow.
const functionDefinitions =
  /(?<![^\s;&|(){}<>])(?:function\s{1,9}([^\s;&|(){}<>]{1,64})\s{0,9}(?:\(\s{0,9}\))?|([^\s;&|(){}<>]{1,64})\s{0,9}\(\s{0,9}\))\s{0,9}[{(]([^{}]{0,400})[})]/g;

/** True for a function that calls itself at least twice, in the background or in a pipe, and that is called. */
function isForkBomb(bare: string): boolean {
  for (const match of bare.matchAll(functionDefinitions)) {
    const name = RegExp.escape((match[1] ?? match[2])!);
    const body = match[3]!;
    const calls = body.match(new RegExp(`(?<=^|[\\s;&|({])${name}(?=\\s*(?:[|&;)]|$))`, "g"))?.length ?? 0;
    if (calls < 2 || !/(?<!&)&(?!&)|(?<!\|)\|(?!\|)/.test(body)) continue;
    const after = bare.slice(match.index + match[0].length);
    if (new RegExp(`(?<=^|[\\s;&|({])${name}(?=[\\s;&|)}]|$)`).test(after)) return true;
  }
  return false;
}
