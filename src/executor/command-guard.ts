// Refuses commands that would destroy the machine by accident, under every policy. It only reads the text of the
// command, so it does not stop a determined user. The boundary is the sandbox, not this guard.
import { basename, posix } from "node:path";
import { oneLine } from "../kit/text/cut-text.ts";
import { quotedMark, withoutQuotedMarks, parseScript, type SimpleCommand, unknownValue } from "./parse-script.ts";

export type CommandDirectories = { cwd: string; home: string };

/** Returns the message for a refused command; null if it may run. */
export function findRefusalReason(command: string, directories: CommandDirectories): string | null {
  const reason = findDangerInScript(command.slice(0, maxScriptLength), directories, 0);
  if (reason === null) return null;
  return `refused: ${reason}. skein runs no such command under any policy; the user can run it outside of skein`;
}

const maxNesting = 5;
/** The longest argument that Linux passes to a program, in bytes. */
const maxScriptLength = 128 << 10;

function findDangerInScript(text: string, directories: CommandDirectories, depth: number): string | null {
  if (depth > maxNesting) return null;
  const { commands, unquoted } = parseScript(text);
  if (isForkBomb(unquoted)) return "this is a fork bomb: it starts processes without end";
  const ctx: GuardContext = { cwd: directories.cwd, home: /(?:^|[\s;&|(])HOME=/.test(unquoted) ? null : directories.home };
  for (const command of commands) {
    const device = command.outputTargets.map(withoutQuotedMarks).find(isDisk);
    if (device !== undefined) return `it overwrites the device ${device}`;
    const [first = "", ...args] = skipWrappers(command.words);
    const program = basename(withoutQuotedMarks(first));
    if (program === "cd" || program === "pushd") ctx.cwd = resolveDirectory(args.find(isOperand) ?? "~", ctx);
    const reason = ruleFor(program)?.(args, ctx, program) ?? null;
    if (reason !== null) return reason;
    for (const script of innerScripts(program, args, command)) {
      const inner = findDangerInScript(script, directories, depth + 1);
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
    return hasFlag(args, "rR", "recursive") ? checkPaths(args, ctx, "deletes", "with home") : null;
  },
  chmod: (args, ctx) => (hasFlag(args, "R", "recursive") ? checkPaths(args.slice(1), ctx, "changes the modes of", "without home") : null),
  chown: (args, ctx) => (hasFlag(args, "R", "recursive") ? checkPaths(args, ctx, "changes the owner of", "without home") : null),
  chgrp: (args, ctx) => (hasFlag(args, "R", "recursive") ? checkPaths(args, ctx, "changes the group of", "without home") : null),
  find: (args, ctx) => {
    const startPaths = args.filter((_, index) => args.slice(0, index + 1).every(isOperand));
    const deletesAll = args.includes("-delete") && args.slice(startPaths.length).every((word) => /^-(delete|depth|xdev|mount)$/.test(word));
    return deletesAll ? checkPaths(startPaths, ctx, "deletes", "with home") : null;
  },
  mkfs: (args, _, program) => checkDevices(args, `${program} makes a new file system on`),
  dd: (args) => {
    const device = args.map(withoutQuotedMarks).find((word) => word.startsWith("of=") && isDisk(word.slice(3)));
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

function checkPaths(args: string[], ctx: GuardContext, action: string, home: "with home" | "without home"): string | null {
  for (const word of args.filter(isOperand)) {
    const directory = resolveDirectory(word, ctx);
    if (directory === null) continue;
    const typed = oneLine(withoutQuotedMarks(word), 80);
    if (directory === "/") return `it ${action} everything on this machine (${typed})`;
    if (home === "with home" && directory === ctx.home) return `it ${action} the whole home directory (${typed})`;
    if (systemDirectories.has(directory)) return `it ${action} a directory the system needs (${typed})`;
  }
  return null;
}

function checkDevices(args: string[], action: string): string | null {
  const device = args.map(withoutQuotedMarks).find(isDisk);
  return device === undefined ? null : `${action} ${device}`;
}

const systemDirectories = new Set(
  "/bin /boot /dev /etc /home /lib /lib64 /proc /root /sbin /sys /usr /usr/bin /usr/lib /var /Applications /Library /System /Users".split(
    " ",
  ),
);

/** Resolves a path, or a pattern like `dir/*`, to a directory. Null if the directory is known only at run time. */
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
  const full = posix.resolve(cwd ?? "/", path.replaceAll(quotedMark, ""));
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

/** Programs that run another program. `valueFlags` take a value; `operands` is the number of words before that program. */
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

/** Returns the words without wrappers and assignments, so that the first one is the program that runs. */
function skipWrappers(words: string[]): string[] {
  let index = 0;
  for (;;) {
    const word = withoutQuotedMarks(words[index] ?? "");
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

/** Scripts in the arguments or here-documents of a shell. */
function innerScripts(program: string, args: string[], command: SimpleCommand): string[] {
  if (program === "eval") return [args.map(withoutQuotedMarks).join(" ")];
  if (!shells.has(program)) return [];
  const flag = args.findIndex((word) => /^-[a-z]*c$/.test(word));
  const script = flag === -1 ? undefined : args[flag + 1];
  return script === undefined ? command.hereDocuments : [withoutQuotedMarks(script)];
}

// Every repetition is bounded and the start is anchored, so that no text makes the search slow.
const functionDefinitions =
  /(?<![^\s;&|(){}<>])(?:function\s{1,9}([^\s;&|(){}<>]{1,64})\s{0,9}(?:\(\s{0,9}\))?|([^\s;&|(){}<>]{1,64})\s{0,9}\(\s{0,9}\))\s{0,9}[{(]([^{}]{0,400})[})]/g;

/** True for a function that calls itself at least twice, in the background or in a pipe, and that is called. */
function isForkBomb(unquoted: string): boolean {
  for (const match of unquoted.matchAll(functionDefinitions)) {
    const name = RegExp.escape((match[1] ?? match[2])!);
    const body = match[3]!;
    const calls = body.match(new RegExp(`(?<=^|[\\s;&|({])${name}(?=\\s*(?:[|&;)]|$))`, "g"))?.length ?? 0;
    if (calls < 2 || !/(?<!&)&(?!&)|(?<!\|)\|(?!\|)/.test(body)) continue;
    const after = unquoted.slice(match.index + match[0].length);
    if (new RegExp(`(?<=^|[\\s;&|({])${name}(?=[\\s;&|)}]|$)`).test(after)) return true;
  }
  return false;
}
