// Finds in the output of a command the actions that the sandbox denied, and explains what is not allowed.
// Reads no file and enforces nothing. Without an enforced sandbox there are no denials.
import { dirname, resolve } from "node:path";
import { oneLine } from "../kit/text/cut-text.ts";
import type { SandboxInfo, Denial } from "../protocol/api/policy.ts";

export type FinishedCommand = {
  command: string;
  /** Only the last 16 KB are searched. */
  output: string;
  /** Null if a signal ended the command. */
  exitCode: number | null;
  cwd: string;
  home: string;
};

const maxTextLength = 300;
const searchedLength = 16 << 10;

/** Returns at most one denial of each kind. */
export function findDenials(finished: FinishedCommand, sandbox: SandboxInfo): Denial[] {
  if (!sandbox.isEnforced) return [];
  const denials = new Map<Denial["what"], string>();
  const add = ({ what, text }: Denial) => denials.has(what) || denials.set(what, oneLine(text, maxTextLength));
  const lines = finished.output
    .slice(-searchedLength)
    .split("\n")
    .filter((line) => isErrorLine(line, finished));
  for (const line of lines) {
    const denial = denialIn(line, finished, sandbox);
    if (denial) add(denial);
  }
  for (const denial of silentDenials(finished, sandbox)) add(denial);
  return [...denials].map(([what, text]) => ({ what, text }));
}

export function writeDenial(path: string, sandbox: SandboxInfo, home: string): string {
  if (isProtected(path)) return `can't write ${shortPath(path, home)}: it is protected (git's hooks and config, skein's files)`;
  return `can't write ${shortPath(path, home)}: ${writingAllowed(sandbox)}`;
}

export function secretDenial(path: string, verb: "read" | "write", home: string): string {
  return `can't ${verb} ${shortPath(path, home)}: it is a secret, hidden by the policy`;
}

/** If a hidden and a writable directory both contain the path, the longer one decides. */
export function isHidden(path: string, sandbox: SandboxInfo): boolean {
  const hidden = longestCover(path, sandbox.hidden);
  return hidden > 0 && hidden >= longestCover(path, sandbox.writable);
}

export function isUnwritable(path: string, sandbox: SandboxInfo): boolean {
  return isProtected(path) || longestCover(path, sandbox.writable) === 0;
}

const maxListedPaths = 4;

function writingAllowed({ policy, writable, temp }: SandboxInfo): string {
  const paths = writable.filter((path) => path !== temp && !/^\/dev(\/|$)/.test(path));
  const topmost = paths.filter((path) => !paths.some((other) => other !== path && isUnder(path, other)));
  if (topmost.length === 0) return `policy ${policy} allows writing nothing but ${temp} ($TMPDIR)`;
  const more = topmost.length > maxListedPaths ? ` and ${topmost.length - maxListedPaths} more paths` : "";
  return `policy ${policy} allows writing only ${topmost.slice(0, maxListedPaths).join(", ")}${more} and ${temp} ($TMPDIR)`;
}

const howToAllow = "only the user can allow it, with --net on";

function netText({ policy, named }: SandboxInfo, isLoopback: boolean): string {
  if (named !== undefined && !isLoopback) {
    const hosts = named.hosts.slice(0, maxListedPaths).join(", ");
    return `network is off (policy ${policy}) except for ${hosts}, which programs reach through the proxy in HTTPS_PROXY and HTTP_PROXY; only the user can name more, with --net`;
  }
  if (isLoopback) {
    return `network is off (policy ${policy}): 127.0.0.1 reaches only servers that these commands started, no other server of this machine; ${howToAllow}`;
  }
  return `network is off (policy ${policy}): commands reach no host; ${howToAllow}`;
}

const socketText = "unix sockets of other programs (docker, dbus, ssh and gpg agents, databases) can't be reached under this policy";
const processText = "mounting, namespaces, tracing, and signals to processes outside are not allowed under this policy";

const networkErrors = new RegExp(
  [
    "network is (unreachable|down)|network unreachable|no route to host|no servers could be reached|host is unreachable",
    "could not resolve (host|proxy|hostname)|couldn't resolve host|unable to resolve host|failed to resolve|name resolution|temporary failure resolving",
    "name or service not known|nodename nor servname|no such host|no address associated with hostname|unknown ?host|bad address '",
    "failed to lookup address|dns (error|lookup failed)|getaddrinfo (eai_again|enotfound|failed|for)|gaierror|php_network_getaddresses",
    "\\beai_again\\b|\\benotfound\\b|\\benetunreach\\b|\\behostunreach\\b|\\benetdown\\b|failedtoopensocket|fetch failed|unable to connect\\. is the computer",
    "(connect|socket|dial)\\b.*(operation not permitted|permission denied|\\beperm\\b|\\beacces\\b)",
  ].join("|"),
  "i",
);
const connectionRefused = /connection refused|\beconnrefused\b|connectionrefused|failed to connect to|couldn't connect to server/i;
const loopback = /\b127\.\d+\.\d+\.\d+\b|\blocalhost\b|::1\b/i;
const socketErrors =
  /docker daemon|\.sock\b|AF_UNIX|connect to (the )?(bus|system bus|session bus)|authentication agent|can't connect to the (gpg-)?agent|no gpg-agent|error connecting to \/\S*tmux|on socket "|through socket '/i;
const privilegeErrors =
  /\b(mount|umount|unshare|setns|nsenter|chroot|ptrace|strace|gdb|kill|pivot_root|swapon|modprobe|insmod)\b.*(operation not permitted|permission denied)|bad system call/i;
const forkErrors = /fork: (retry: )?resource temporarily unavailable|cannot fork|\bspawn\b.*\beagain\b|can't start new thread/i;
const readOnly = /read-only file ?system|\berofs\b/i;
/** Replacing a protected file fails with EBUSY, because a mount protects it. */
const busyMount = /device or resource busy|\bebusy\b/i;
const forbidden = /permission denied|operation not permitted|\beacces\b|\beperm\b|access is denied/i;
const absent = /no such file or directory|\benoent\b|does not exist|cannot access/i;
/** Programs that only read, so that a path in their errors was not to be written. */
const readingPrograms =
  /^(?:cat|head|tail|less|more|ls|find|fd|grep|egrep|rg|ag|wc|file|stat|du|df|diff|cmp|xxd|od|strings|tree|readlink|realpath): /;

function denialIn(line: string, finished: FinishedCommand, sandbox: SandboxInfo): Denial | null {
  if (!sandbox.unixSockets && socketErrors.test(line)) return { what: "socket", text: socketText };
  if (sandbox.net === "off" && networkErrors.test(line)) return { what: "net", text: netText(sandbox, false) };
  if (sandbox.net === "off" && connectionRefused.test(line)) return { what: "net", text: netText(sandbox, loopback.test(line)) };
  if (forkErrors.test(line))
    return { what: "process", text: `no more processes can be started: at most ${sandbox.maxProcesses} may run at a time` };
  if (privilegeErrors.test(line)) return { what: "process", text: processText };
  const isReadOnly = readOnly.test(line);
  const isForbidden = forbidden.test(line);
  const isMounted = busyMount.test(line);
  if (!isReadOnly && !isForbidden && !isMounted && !absent.test(line)) return null;
  const path = pathIn(line, finished);
  if (path === null && isReadOnly) return { what: "write", text: writingAllowed(sandbox) };
  // If sockets are forbidden, some languages mention the socket only in earlier lines.
  const isSocket = path === null && isForbidden && sandbox.net === "off" && /\bsocket\b/i.test(finished.output.slice(-searchedLength));
  if (isSocket) return { what: "net", text: netText(sandbox, false) };
  if (path === null) return null;
  if (isMounted && isProtected(path)) return { what: "write", text: writeDenial(path, sandbox, finished.home) };
  if (isHidden(path, sandbox)) return { what: "secret", text: secretDenial(path, "read", finished.home) };
  const isWriting = isReadOnly || (isForbidden && finished.exitCode !== 126 && !readingPrograms.test(line));
  return isWriting && isUnwritable(path, sandbox) ? { what: "write", text: writeDenial(path, sandbox, finished.home) } : null;
}

/** Denials without an error line: programs that only set an exit code, and secrets that look missing or empty. */
function silentDenials(finished: FinishedCommand, sandbox: SandboxInfo): Denial[] {
  const { command, exitCode, output } = finished;
  const denials: Denial[] = [];
  const isNetCode = (/\bcurl\b/.test(command) && (exitCode === 6 || exitCode === 7)) || (/\bwget\b/.test(command) && exitCode === 4);
  if (sandbox.net === "off" && isNetCode) denials.push({ what: "net", text: netText(sandbox, loopback.test(command)) });
  if (exitCode === 0 && output.trim() !== "") return denials;
  const words = command.slice(0, searchedLength).match(/[^\s'"<>|;&()=]+/g) ?? [];
  const secret = words.map((word) => toAbsolute(word, finished)).find((path) => isHidden(path, sandbox));
  if (secret !== undefined) denials.push({ what: "secret", text: secretDenial(secret, "read", finished.home) });
  return denials;
}

/** After these the exit code is that of another command, so 0 does not mean success. */
const hidesFailure = /(?:2>&1\s*\||\|&|\|\|)/;
const errorWords = /^\s*(?:[\w.@-]+ )?(?:[\w.]*(?:Error|Exception)|error|ERR!|fatal|panic)\b/;

/** False for source text that a search printed. After exit code 0, only lines of a program that the command names count. */
function isErrorLine(line: string, { exitCode, command }: FinishedCommand): boolean {
  if (/^[^\s:]*\.\w+[:-]\d+[:-]/.test(line) || /^\d+[:-]/.test(line)) return false;
  if (exitCode !== 0 || (hidesFailure.test(command) && errorWords.test(line))) return true;
  const program = /^(?:\S*\/)?([a-zA-Z][\w.+-]*):? /.exec(line)?.[1];
  if (program === undefined || /^\s*(?:grep|rg|egrep|cat|git (?:log|show|diff|grep))\b[^|;&]*$/.test(command)) return false;
  if (program === "fatal") return /\bgit\b/.test(command);
  if (program === "bash") return (line.match(/\/[^\s:'"]+/g) ?? []).some((path) => command.includes(path));
  return new RegExp(`(?<![\\w.-])${RegExp.escape(program)}(?![\\w.-])`).test(command);
}

/** The path that an error line is about: quoted, or before or after the error. */
function pathIn(line: string, finished: FinishedCommand): string | null {
  const quoted = /['"‘`]([^'"’`]*\/?[^'"’`]+)['"’`]/.exec(line)?.[1];
  const bare = /(?<![\w/.])((?:~|\.{1,2})?\/[^\s:,'"’)]+)/.exec(line)?.[1];
  const before = /(?:^|[:\s])([^\s:]+): (?:read-only|permission denied|operation not permitted|device or resource busy|no such file)/i.exec(
    line,
  )?.[1];
  const path = quoted !== undefined && !/^(?:https?|git|ssh):/.test(quoted) ? quoted : (bare ?? before);
  if (path === undefined) return null;
  const program = /^([\w.-]+): (?:couldn't open|cannot create|can't create) temporary file/i.exec(line)?.[1];
  const absolute = toAbsolute(path, finished);
  return program === undefined ? absolute : editedPath(absolute, program, finished);
}

/**
 * `sed -i` writes a temporary file beside the one that it edits. Returns the last path in that directory that the program
 * gets in the command, else the directory.
 */
function editedPath(temporary: string, program: string, finished: FinishedCommand): string {
  for (const part of finished.command.slice(0, searchedLength).split(/[;&|\n]/)) {
    const words: string[] = part.match(/[^\s'"<>()=]+/g) ?? [];
    const index = words.indexOf(program);
    const paths = index === -1 ? [] : words.slice(index + 1).map((word) => toAbsolute(word, finished));
    const edited = paths.findLast((path) => dirname(path) === dirname(temporary));
    if (edited !== undefined) return edited;
  }
  return dirname(temporary);
}

function toAbsolute(path: string, { cwd, home }: FinishedCommand): string {
  return resolve(
    cwd,
    path.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, () => home),
  );
}

function isProtected(path: string): boolean {
  return /\/\.git\/(?:.*\/)?(?:hooks(?:\/|$)|config(?:\.worktree|\.lock)?$)|\/\.skein(?:\/(?!plan\.md$)|$)/.test(path);
}

/** The length of the longest directory that contains the path; 0 if none does. */
function longestCover(path: string, directories: string[]): number {
  return directories.reduce((longest, directory) => (isUnder(path, directory) ? Math.max(longest, directory.length) : longest), 0);
}

function isUnder(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`);
}

function shortPath(path: string, home: string): string {
  return home !== "/" && isUnder(path, home) ? `~${path.slice(home.length)}` : path;
}
