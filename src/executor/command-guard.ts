// Refuses commands that would destroy the machine by accident, under every policy. It only reads the text of the
// command, so it does not stop a determined user. The boundary is the sandbox, not this guard.
import { basename, posix } from "node:path";
import { oneLine } from "../kit/text/cut-text.ts";

export type CommandDirectories = { cwd: string; home: string };

/** Returns the message for a refused command; null if it may run. */
export function findRefusalReason(command: string, directories: CommandDirectories): string | null {
  const reason = findDanger(command.slice(0, maxScriptLength), directories, 0);
  if (reason === null) return null;
  return `refused: ${reason}. skein runs no such command under any policy; the user can run it outside of skein`;
}

const maxNesting = 5;
/** The longest argument that Linux passes to a program, in bytes. */
const maxScriptLength = 128 << 10;

/** A function whose first two commands call itself, in the text of all commands with ` ; ` between them. */
const forkBomb = /(?<!\S)(\S{1,64}) (?:; )?\{ (?:; )?\1 ; \1 ; \}/;
/** Programs whose arguments can be scripts. */
const shells = /^(?:(?:ba|da|z|k|a)?sh|su|eval)$/;

function findDanger(script: string, directories: CommandDirectories, depth: number): string | null {
  if (depth > maxNesting) return null;
  const commands = splitCommands(script);
  if (forkBomb.test(commands.map((words) => words.join(" ")).join(" ; "))) return "this is a fork bomb: it starts processes without end";
  const setsHome = commands.flat().some((word) => word.startsWith("HOME="));
  const ctx: GuardContext = { cwd: directories.cwd, home: setsHome ? null : directories.home };
  for (const words of commands) {
    const device = words.find((word, index) => words[index - 1] === ">" && isDisk(word));
    if (device !== undefined) return `it overwrites the device ${device}`;
    const [first = "", ...args] = skipWrappers(words);
    const program = basename(first);
    if (program === "cd" || program === "pushd") ctx.cwd = resolveDirectory(args.find(isOperand) ?? "~", ctx);
    const reason = checkRule(program, args, ctx);
    if (reason !== null) return reason;
    if (!shells.test(program)) continue;
    for (const inner of program === "eval" ? [args.join(" ")] : args) {
      const innerReason = findDanger(inner.replaceAll(quotedMark, ""), directories, depth + 1);
      if (innerReason !== null) return innerReason;
    }
  }
  return null;
}

/** `cwd` is null after `cd` to an unknown directory. `home` is null if the command sets HOME itself. */
type GuardContext = { cwd: string | null; home: string | null };

type Rule = {
  programs: RegExp;
  /** The rule applies only with this argument. */
  flag?: RegExp;
  /** The words of the message before the target. */
  does: string;
  target: "system" | "system or home" | "disk";
  /** Selects the arguments to check. Without it, all operands are checked. */
  operands?: (args: string[]) => string[];
};

const rules: Rule[] = [
  { programs: /^rm$/, flag: /^(?:-\w*[rR]|--recursive$)/, does: "deletes", target: "system or home" },
  { programs: /^find$/, flag: /^-delete$/, does: "deletes", target: "system or home", operands: startPathsWithoutTests },
  { programs: /^chmod$/, flag: /^(?:-\w*R|--recursive$)/, does: "changes the modes of", target: "system" },
  { programs: /^chown$/, flag: /^(?:-\w*R|--recursive$)/, does: "changes the owner of", target: "system" },
  { programs: /^chgrp$/, flag: /^(?:-\w*R|--recursive$)/, does: "changes the group of", target: "system" },
  { programs: /^(?:mkfs(?:\..+)?|mke2fs|mkswap)$/, does: "makes a new file system on", target: "disk" },
  { programs: /^dd$/, does: "overwrites the device", target: "disk", operands: (args) => args.map((word) => word.replace(/^of=/, "")) },
  { programs: /^cp$/, does: "overwrites the device", target: "disk", operands: (args) => args.slice(-1) },
  { programs: /^(?:shred|tee)$/, does: "overwrites the device", target: "disk" },
  { programs: /^wipefs$/, flag: /^(?:-\w*[ao]|--all$)/, does: "erases the signatures of", target: "disk" },
  { programs: /^blkdiscard$/, does: "empties the device", target: "disk" },
];

/** The start paths of `find`, if it has no test and so deletes every file below them. */
function startPathsWithoutTests(args: string[]): string[] {
  return args.every((word) => isOperand(word) || /^-(?:delete|depth|xdev|mount)$/.test(word)) ? args : [];
}

function checkRule(program: string, args: string[], ctx: GuardContext): string | null {
  if (program === "rm" && args.includes("--no-preserve-root")) return "rm with --no-preserve-root is meant to delete /";
  const rule = rules.find(({ programs }) => programs.test(program));
  if (!rule || (rule.flag && !args.some((word) => rule.flag!.test(word)))) return null;
  for (const word of (rule.operands?.(args) ?? args).filter(isOperand)) {
    if (rule.target === "disk") {
      if (isDisk(word)) return `${program} ${rule.does} ${word}`;
      continue;
    }
    const directory = resolveDirectory(word, ctx);
    const typed = oneLine(word.replaceAll(quotedMark, ""), 80);
    if (directory === "/") return `it ${rule.does} everything on this machine (${typed})`;
    if (directory === null) continue;
    if (rule.target === "system or home" && directory === ctx.home) return `it ${rule.does} the whole home directory (${typed})`;
    if (systemDirectories.test(directory)) return `it ${rule.does} a directory the system needs (${typed})`;
  }
  return null;
}

const systemDirectories =
  /^\/(?:bin|boot|dev|etc|home|lib|lib64|proc|root|sbin|sys|usr|usr\/bin|usr\/lib|var|Applications|Library|System|Users)$/;

/** Resolves a path, or a pattern like `dir/*`, to a directory. Null if the directory is known only at run time. */
function resolveDirectory(word: string, { cwd, home }: GuardContext): string | null {
  // A pattern for everything in a directory counts as the directory. Other patterns match only some files.
  let path = word.replace(/(^|\/)(?:\.?[*?]+|\{\*,\.\*\})\/?$/, "$1.");
  if (/^~(?=\/|$)/.test(path)) {
    if (home === null) return null;
    path = home + path.slice(1);
  }
  if (/(?<!\0)[$*?[]/.test(path) || (cwd === null && !path.startsWith("/"))) return null;
  return posix.resolve(cwd ?? "/", path.replaceAll(quotedMark, ""));
}

const diskDevices =
  /^\/dev\/(?:r?disk\d|[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|md\d|dm-\d|mapper\/|disk\/|block\/|loop\d|nbd\d|sr\d|k?mem$|port$)/;

function isDisk(path: string): boolean {
  return diskDevices.test(posix.normalize(path));
}

function isOperand(word: string): boolean {
  return !word.startsWith("-");
}

const keywordOrAssignment = /^(?:if|then|else|elif|do|while|until|!|\{|\}|\w+\+?=[\s\S]*)$/;
const wrappers = /^(?:sudo|doas|env|command|builtin|exec|nohup|setsid|time|nice|ionice|stdbuf|timeout|busybox|xargs|function)$/;

/**
 * Returns the program that runs, with its arguments. After a wrapper like `sudo` that is the first program with a rule,
 * so that the flags of wrappers need not be known.
 */
function skipWrappers(words: string[]): string[] {
  const start = words.findIndex((word) => !keywordOrAssignment.test(word));
  if (start === -1) return [];
  if (!wrappers.test(basename(words[start]!))) return words.slice(start);
  const hasRule = (name: string): boolean => shells.test(name) || rules.some(({ programs }) => programs.test(name));
  const program = words.findIndex((word, index) => index > start && hasRule(basename(word)));
  return program === -1 ? [] : words.slice(program);
}

/** Stands before a quoted special character, which the shell does not expand. */
const quotedMark = "\0";

const homeVariable = String.raw`\$(?:HOME\b|\{HOME\b[^}]*\})`;
const tick = "`";
const quotedToken = new RegExp(String.raw`\\[\s\S]?|["${tick}]|\$\(|${homeVariable}|\$|[^"\\${tick}$]+`, "y");
const plainToken = new RegExp(
  [
    String.raw`\\[\s\S]?|["${tick}]|[$<>]\(|${homeVariable}`,
    String.raw`\$?'(?<single>[^']*)'?`,
    String.raw`<<-?[ \t]*['"\\]?(?<documentEnd>[A-Za-z_]\w*)['"]?`,
    String.raw`[<>]+[&|]?|[;&|()\n]|(?:[ \t\r]|#[^\n]*)+`,
    String.raw`[^\s\\"${tick}$'<>;&|()#][^\s\\"${tick}$'<>;&|()]*|[\s\S]`,
  ].join("|"),
  "y",
);

/** The current command inside of one substitution, or outside of all. `end` closes the substitution. */
type Level = { words: string[]; isInWord: boolean; isQuoted: boolean; end: ")" | "`" | null };

/**
 * Splits a bash script into the words of its simple commands, also of those in substitutions. It reads quotes,
 * redirections (as a word `>` or `<`) and here-documents, but no control structures. It expands only $HOME, to `~`.
 */
function splitCommands(text: string): string[][] {
  const commands: string[][] = [[]];
  const outer: Level[] = [];
  let level: Level = { words: commands[0]!, isInWord: false, isQuoted: false, end: null };
  const documentEnds: string[] = [];
  const add = (piece: string): void => {
    if (level.isInWord) level.words.push((level.words.pop() ?? "") + piece);
    else level.words.push(piece);
    level.isInWord = true;
  };
  const endCommand = (): void => {
    level = { ...level, words: [], isInWord: false };
    commands.push(level.words);
  };

  for (let position = 0; position < text.length;) {
    const { isQuoted } = level;
    const pattern = isQuoted ? quotedToken : plainToken;
    pattern.lastIndex = position;
    const match = pattern.exec(text)!;
    const [token] = match;
    const { single, documentEnd } = match.groups ?? {};
    position += token.length;

    if (token === '"') {
      add("");
      level.isQuoted = !isQuoted;
    } else if (token === level.end && !isQuoted) level = outer.pop()!;
    else if (token === "`" || /^[$<>]\($/.test(token)) {
      // The value of a substitution is known only at run time, as that of a variable.
      add("$");
      outer.push(level);
      level = { words: [], isInWord: false, isQuoted: false, end: token === "`" ? "`" : ")" };
      commands.push(level.words);
    } else if (token.startsWith("\\")) add(quote(token.slice(1).replace("\n", "")));
    else if (single !== undefined) add(quote(single));
    else if (/^\$./.test(token)) add("~");
    else if (isQuoted) add(token === "$" ? token : quote(token));
    else if (documentEnd !== undefined) documentEnds.push(documentEnd);
    else if (/^[<>]/.test(token)) {
      level.words.push(token.includes(">") ? ">" : "<");
      level.isInWord = false;
    } else if (/^[ \t\r#]/.test(token)) level.isInWord = false;
    else if (/^[;&|()\n]/.test(token)) {
      // A here-document becomes a word of the last command in its line. It matters only for a shell.
      for (const end of token === "\n" ? documentEnds.splice(0) : []) {
        const [body] = new RegExp(`[\\s\\S]*?^\\t*${end}$|[\\s\\S]*`, "m").exec(text.slice(position))!;
        level.words.push(quote(body));
        position += body.length;
      }
      endCommand();
    } else add(token);
  }
  return commands.filter((words) => words.length > 0);
}

function quote(text: string): string {
  return text.replace(/[~*?[{$]/g, `${quotedMark}$&`);
}
