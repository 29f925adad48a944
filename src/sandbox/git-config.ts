// Reads git's configuration files without git: which other paths they name, and which of their settings run programs.
// The files may be hostile. A wrong guess may only protect or report too much.
import { realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, normalize, resolve } from "node:path";
import { readSafely } from "../kit/files/safe-file.ts";

/** `section.subsection.name`. Section and name are in lower case, the subsection is as written. */
export type GitSetting = { key: string; value: string };

/** `programs` are files that settings make git run, such as a filter. Only those exist for sure. */
export type NamedPaths = { hooks: string[]; includes: string[]; programs: string[] };

const maxConfigBytes = 1 << 20;
/** git's own limit for includes in includes. */
const maxIncludeDepth = 10;
const maxFiles = 100;

export function parseGitConfig(content: string): GitSetting[] {
  const text = content.replaceAll("\r\n", "\n");
  const settings: GitSetting[] = [];
  let section = "";
  // Each pattern starts where the one before ended. The last one skips a comment, or a line that git would refuse.
  // No two parts of a pattern match the same letter in a row: a hostile file would make the search quadratic.
  const header = /\[([\w.-]*)(?:[ \t\r]+"((?:[^"\\\n]|\\.)*)")?\]/y;
  const name = /([a-z][a-z0-9-]*)[ \t]*(=)?/iy;
  const rest = /[^\n]*/y;
  const takeNext = (pattern: RegExp, at: number) => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  for (let at = 0; at < text.length;) {
    at += takeNext(/\s*/y, at)?.[0].length ?? 0;
    const heading = takeNext(header, at);
    const setting = takeNext(name, at);
    if (heading !== null) {
      const subsection = heading[2]?.replace(/\\(.)/g, "$1");
      section = `${heading[1]!.toLowerCase()}${subsection === undefined ? "" : `.${subsection}`}`;
      at = header.lastIndex;
    } else if (setting !== null) {
      const { value, end } = setting[2] === undefined ? { value: "true", end: name.lastIndex } : readValue(text, name.lastIndex);
      settings.push({ key: `${section}.${setting[1]!.toLowerCase()}`, value });
      at = end;
    } else at += takeNext(rest, at)![0].length;
  }
  return settings;
}

const escapes: Record<string, string> = { n: "\n", t: "\t", b: "\b", "\n": "" };

/** Reads up to the end of the line. A backslash before it continues the value; quotes and comments are removed. */
function readValue(text: string, start: number): { value: string; end: number } {
  let value = "";
  let isQuoted = false;
  let at = start;
  for (; at < text.length && text[at] !== "\n"; at++) {
    const letter = text[at]!;
    if (letter === '"') isQuoted = !isQuoted;
    else if (letter === "\\") value += escapes[text[(at += 1)] ?? ""] ?? text[at] ?? "";
    else if (!isQuoted && (letter === "#" || letter === ";")) {
      const end = text.indexOf("\n", at);
      return { value: value.trim(), end: end === -1 ? text.length : end };
    } else value += letter;
  }
  return { value: value.trim(), end: at };
}

/** Keys whose value is a program, or leads git to other settings or hooks. */
const programKeys = [
  /^core\.(hookspath|sshcommand|gitproxy|pager|editor|askpass|alternaterefscommand)$/,
  /^(sequence|gui)\.editor$/,
  /^filter\..*\.(clean|smudge|process)$/,
  /^diff\.(external|.*\.(command|textconv))$/,
  /^merge\..*\.driver$/,
  /^(difftool|mergetool|browser|man|guitool)\..*\.(cmd|path)$/,
  /^gpg\.(.*\.)?(program|defaultkeycommand)$/,
  /^credential\.(.*\.)?helper$/,
  /^include\.path$/,
  /^includeif\..*\.path$/,
  /^uploadpack\.packobjectshook$/,
  /^gc\.recentobjectshook$/,
  /^hook\..*\.command$/,
  /^interactive\.difffilter$/,
  /^trailer\..*\.(command|cmd)$/,
  /^tar\..*\.command$/,
  /^remote\..*\.(uploadpack|receivepack|vcs)$/,
  /^sendemail\.(.*\.)?(smtpserver|tocmd|cccmd|headercmd|sendmailcmd)$/,
  /^imap\.tunnel$/,
  /^instaweb\.httpd$/,
  /^init\.templatedir$/,
  /^protocol\.(.*\.)?allow$/,
  /^lfs\.(extension\..*\.(clean|smudge)|customtransfer\..*\.path)$/,
];

const isSwitch = /^(|true|false|yes|no|on|off|\d+)$/i;

/** The settings that make git run a program. */
export function programSettings(settings: GitSetting[]): GitSetting[] {
  return settings.filter(({ key, value }) => {
    // An alias may also set another setting, by an option before its command.
    if (key.startsWith("alias.")) return /^!|(^|\s)(-c|--config-env|--exec-path)/.test(value);
    if (/^submodule\..*\.update$/.test(key)) return value.startsWith("!");
    if (key === "core.fsmonitor" || key.startsWith("pager.")) return !isSwitch.test(value);
    if (/^(remote\..*\.(push)?url|url\..*\.(pushinsteadof|insteadof))$/.test(key)) return /ext::/.test(`${key} ${value}`);
    return programKeys.some((pattern) => pattern.test(key));
  });
}

/** The settings of the files that were read last. Each sandbox asks several times for the same files. */
const parsed = new Map<string, { version: string; settings: GitSetting[] | null }>();
const maxParsed = 100;

/** Null if there is no such file, or no readable regular file of at most 1 MB. Never waits for a pipe. */
export function readGitConfig(path: string, owners: readonly number[]): GitSetting[] | null {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return null;
    // No program can set the time of the last change (ctime) to an earlier one.
    const version = [stat.dev, stat.ino, stat.size, stat.ctimeNs, ...owners].join(" ");
    const stored = parsed.get(path);
    if (stored?.version === version) return stored.settings;
    // Users link their settings from elsewhere. The content only names paths, so a swap in between does no harm.
    const bytes = readSafely(realpathSync(path), { maxBytes: maxConfigBytes, owners: [...owners, 0] });
    const settings = bytes === null ? null : parseGitConfig(bytes.toString());
    if (parsed.size >= maxParsed) parsed.clear();
    parsed.set(path, { version, settings });
    return settings;
  } catch {
    return null;
  }
}

/** Settings in variables, which count like those of a file. */
export function environmentSettings(env: Readonly<Record<string, string | undefined>>): GitSetting[] {
  const count = Math.min(Number(env["GIT_CONFIG_COUNT"]) || 0, maxFiles);
  const numbered = Array.from({ length: count }, (_, n) => [env[`GIT_CONFIG_KEY_${n}`] ?? "", env[`GIT_CONFIG_VALUE_${n}`] ?? ""] as const);
  const quoted = [...(env["GIT_CONFIG_PARAMETERS"] ?? "").matchAll(/'([^'=]+)(?:'='|=)([^']*)'/g)].map(
    ([, key = "", value = ""]) => [key, value] as const,
  );
  return [...numbered, ...quoted].map(([key, value]) => ({ key: key.replace(/^[^.]*|[^.]*$/g, (part) => part.toLowerCase()), value }));
}

type NamingOptions = {
  worktrees: string[];
  home: string;
  owners: readonly number[];
  /** Settings beside those of the files. */
  settings?: readonly GitSetting[];
};

/** The hooks directories, included files and programs that configuration files name, also through their includes. */
export function pathsNamedBy(files: string[], { worktrees, home, owners, settings = [] }: NamingOptions): NamedPaths {
  const found = { hooks: new Set<string>(), includes: new Set<string>(), programs: new Set<string>() };
  const seen = new Set<string>();
  const read = (list: readonly GitSetting[], file: string, depth: number): void => {
    for (const { key, value } of list) {
      const name = key.slice(key.lastIndexOf(".") + 1);
      // git runs hooks at the top of a working tree, so a relative path starts there.
      if (name === "hookspath") for (const base of worktrees) found.hooks.add(hooksDirectory(absolute(value, base, home)));
      // Other settings have the name `path` too. Only those of an include are files that git reads.
      if (name !== "path" || !/^include(if)?\./.test(key)) continue;
      const included = absolute(value, dirname(file), home);
      found.includes.add(included);
      if (depth < maxIncludeDepth) visit(included, depth + 1);
    }
    for (const { value } of programSettings(list.filter(({ key }) => !key.startsWith("alias."))))
      for (const program of filesInCommand(value)) for (const base of worktrees) found.programs.add(absolute(program, base, home));
  };
  const visit = (file: string, depth: number): void => {
    if (seen.has(file) || seen.size >= maxFiles) return;
    seen.add(file);
    read(readGitConfig(file, owners) ?? [], file, depth);
  };
  for (const file of files) visit(file, 0);
  read(settings, "/", 0);
  const plain = (paths: Set<string>) => [...paths].filter(isPlain);
  return { hooks: plain(found.hooks), includes: plain(found.includes), programs: plain(found.programs) };
}

const interpreter = /(^|\/)(env|(ba|da|z|k)?sh|python[\d.]*|perl|ruby|node|bun|deno)$/;

/** The program of a command, and the script if the program is an interpreter. */
function filesInCommand(command: string): string[] {
  const words = command.replace(/^!\s*/, "").match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? [];
  const plain = words.map((word) => word.replace(/^(["'])(.*)\1$/, "$2")).filter((word) => !/^-|^\w+=/.test(word));
  const scripts = plain.findIndex((word) => !interpreter.test(word));
  return plain.slice(0, scripts === -1 ? 1 : scripts + 1);
}

/** Hooks of husky are in `.husky/_` and run the scripts of the directory above. */
function hooksDirectory(path: string): string {
  return path.endsWith("/_") ? dirname(path) : path;
}

function absolute(value: string, base: string, home: string): string {
  if (value.startsWith("~/")) return join(home, value.slice(2));
  return isAbsolute(value) ? normalize(value).replace(/(.)\/$/, "$1") : resolve(base, value);
}

/** Control characters are in no sensible path, and would forge lines of files that list paths. */
function isPlain(path: string): boolean {
  return !/\p{Cc}/u.test(path);
}
