// Recognises in what a command printed that a wall stopped it, and says what is not allowed and who can allow it.
// Pure: it looks at no file and enforces nothing. Where the kernel enforces nothing, nothing is blamed on it.
import { resolve } from "node:path";
import { oneLine } from "../kit/text/cut-text.ts";
import type { SandboxInfo, Denial } from "../protocol/api/policy.ts";

export type EndedCommand = {
  command: string;
  /** What it printed; the end of it is looked at. */
  output: string;
  /** Null when a signal ended it. */
  exitCode: number | null;
  cwd: string;
  home: string;
};

const longestText = 300;
const looked = 16 << 10;

/** At most one of each kind. */
export function findDenials(ended: EndedCommand, sandbox: SandboxInfo): Denial[] {
  if (!sandbox.isEnforced) return [];
  const found = new Map<Denial["what"], string>();
  const add = (what: Denial["what"], text: string) => found.has(what) || found.set(what, oneLine(text, longestText));
  const lines = ended.output
    .slice(-looked)
    .split("\n")
    .filter((line) => isComplaint(line, ended));
  for (const line of lines) {
    const denial = denialIn(line, ended, sandbox);
    if (denial) add(denial.what, denial.text);
  }
  for (const { what, text } of silentDenials(ended, sandbox)) add(what, text);
  return [...found].map(([what, text]) => ({ what, text }));
}

/** The sentence for a path that must not be written. */
export function writeDenial(path: string, sandbox: SandboxInfo, home: string): string {
  if (isProtected(path)) return `can't write ${shortPath(path, home)}: it is protected (git's hooks and config, skein's files)`;
  return `can't write ${shortPath(path, home)}: ${writingAllowed(sandbox)}`;
}

export function secretDenial(path: string, verb: "read" | "write", home: string): string {
  return `can't ${verb} ${shortPath(path, home)}: it is a secret, hidden by the policy`;
}

/** The longer of two rules that cover a path counts. */
export function isHidden(path: string, sandbox: SandboxInfo): boolean {
  const hidden = longestCover(path, sandbox.hidden);
  return hidden > 0 && hidden >= longestCover(path, sandbox.writable);
}

export function isUnwritable(path: string, sandbox: SandboxInfo): boolean {
  return isProtected(path) || longestCover(path, sandbox.writable) === 0;
}

const mostPlaces = 4;

function writingAllowed({ policy, writable, temp }: SandboxInfo): string {
  const places = writable.filter((path) => path !== temp && !/^\/dev(\/|$)/.test(path));
  const topmost = places.filter((path) => !places.some((other) => other !== path && isUnder(path, other)));
  if (topmost.length === 0) return `policy ${policy} allows writing nothing but ${temp} ($TMPDIR)`;
  const more = topmost.length > mostPlaces ? ` and ${topmost.length - mostPlaces} more places` : "";
  return `policy ${policy} allows writing only ${topmost.slice(0, mostPlaces).join(", ")}${more} and ${temp} ($TMPDIR)`;
}

const person = "only a person can allow it";

function netText(sandbox: SandboxInfo, isOwnMachine: boolean): string {
  if (isOwnMachine) {
    return `network is off (policy ${sandbox.policy}): at 127.0.0.1 is at most what these commands started themselves, no other server of this machine; ${person}, with --net on`;
  }
  return `network is off (policy ${sandbox.policy}): commands reach no host; ${person}, with --net on`;
}

const socketText = "unix sockets of other programs (docker, dbus, ssh and gpg agents, databases) can't be reached under this policy";
const processText = "mounting, namespaces, tracing, and signals to processes outside are not allowed under this policy";

const unreachable = new RegExp(
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
const refusedByNobody = /connection refused|\beconnrefused\b|connectionrefused|failed to connect to|couldn't connect to server/i;
const loopback = /\b127\.\d+\.\d+\.\d+\b|\blocalhost\b|::1\b/i;
const sockets =
  /docker daemon|\.sock\b|AF_UNIX|connect to (the )?(bus|system bus|session bus)|authentication agent|can't connect to the (gpg-)?agent|no gpg-agent|error connecting to \/\S*tmux|on socket "|through socket '/i;
const privileges =
  /\b(mount|umount|unshare|setns|nsenter|chroot|ptrace|strace|gdb|kill|pivot_root|swapon|modprobe|insmod)\b.*(operation not permitted|permission denied)|bad system call/i;
const noFork = /fork: (retry: )?resource temporarily unavailable|cannot fork|\bspawn\b.*\beagain\b|can't start new thread/i;
const readOnly = /read-only file ?system|\berofs\b/i;
/** What replaces a protected file runs into the mount that protects it. */
const mounted = /device or resource busy|\bebusy\b/i;
const forbidden = /permission denied|operation not permitted|\beacces\b|\beperm\b|access is denied/i;
const absent = /no such file or directory|\benoent\b|does not exist|cannot access/i;
/** Programs that only read: what they may not do was never writing. */
const readers =
  /^(?:cat|head|tail|less|more|ls|find|fd|grep|egrep|rg|ag|wc|file|stat|du|df|diff|cmp|xxd|od|strings|tree|readlink|realpath): /;

function denialIn(line: string, ended: EndedCommand, sandbox: SandboxInfo): Denial | null {
  if (!sandbox.unixSockets && sockets.test(line)) return { what: "socket", text: socketText };
  if (sandbox.net === "off" && unreachable.test(line)) return { what: "net", text: netText(sandbox, false) };
  if (sandbox.net === "off" && refusedByNobody.test(line)) return { what: "net", text: netText(sandbox, loopback.test(line)) };
  if (noFork.test(line))
    return { what: "process", text: `no more processes can be started: at most ${sandbox.maxProcesses} run at a time` };
  if (privileges.test(line)) return { what: "process", text: processText };
  const isReadOnly = readOnly.test(line);
  const isForbidden = forbidden.test(line);
  const isMounted = mounted.test(line);
  if (!isReadOnly && !isForbidden && !isMounted && !absent.test(line)) return null;
  const path = pathIn(line, ended);
  if (path === null && isReadOnly) return { what: "write", text: writingAllowed(sandbox) };
  // Where sockets themselves are forbidden, some languages only say so in the lines before.
  const isSocket = path === null && isForbidden && sandbox.net === "off" && /\bsocket\b/i.test(ended.output.slice(-looked));
  if (isSocket) return { what: "net", text: netText(sandbox, false) };
  if (path === null) return null;
  if (isMounted && isProtected(path)) return { what: "write", text: writeDenial(path, sandbox, ended.home) };
  if (isHidden(path, sandbox)) return { what: "secret", text: secretDenial(path, "read", ended.home) };
  const isWriting = isReadOnly || (isForbidden && ended.exitCode !== 126 && !readers.test(line));
  return isWriting && isUnwritable(path, sandbox) ? { what: "write", text: writeDenial(path, sandbox, ended.home) } : null;
}

/** What some programs say by their exit code alone, and secrets that only look absent or empty. */
function silentDenials(ended: EndedCommand, sandbox: SandboxInfo): Denial[] {
  const { command, exitCode, output } = ended;
  const found: Denial[] = [];
  const isNetCode = (/\bcurl\b/.test(command) && (exitCode === 6 || exitCode === 7)) || (/\bwget\b/.test(command) && exitCode === 4);
  if (sandbox.net === "off" && isNetCode) found.push({ what: "net", text: netText(sandbox, loopback.test(command)) });
  if (exitCode === 0 && output.trim() !== "") return found;
  const words = command.slice(0, looked).match(/[^\s'"<>|;&()=]+/g) ?? [];
  const secret = words.map((word) => absolute(word, ended)).find((path) => isHidden(path, sandbox));
  if (secret !== undefined) found.push({ what: "secret", text: secretDenial(secret, "read", ended.home) });
  return found;
}

/** A pipe or an alternative takes the place of what failed. */
const hidesFailure = /(?:2>&1\s*\||\|&|\|\|)/;
const errorWords = /^\s*(?:[\w.@-]+ )?(?:[\w.]*(?:Error|Exception)|error|ERR!|fatal|panic)\b/;

/** Source text and quotations that a search printed are no complaints; after a success only a program it named can complain. */
function isComplaint(line: string, { exitCode, command }: EndedCommand): boolean {
  if (/^[^\s:]*\.\w+[:-]\d+[:-]/.test(line) || /^\d+[:-]/.test(line)) return false;
  if (exitCode !== 0 || (hidesFailure.test(command) && errorWords.test(line))) return true;
  const speaker = /^(?:\S*\/)?([a-zA-Z][\w.+-]*):? /.exec(line)?.[1];
  if (speaker === undefined || /^\s*(?:grep|rg|egrep|cat|git (?:log|show|diff|grep))\b[^|;&]*$/.test(command)) return false;
  if (speaker === "fatal") return /\bgit\b/.test(command);
  if (speaker === "bash") return (line.match(/\/[^\s:'"]+/g) ?? []).some((path) => command.includes(path));
  return new RegExp(`(?<![\\w.-])${RegExp.escape(speaker)}(?![\\w.-])`).test(command);
}

/** The path that a line complains of: quoted, or before or after what is wrong with it. */
function pathIn(line: string, ended: EndedCommand): string | null {
  const quoted = /['"‘`]([^'"’`]*\/?[^'"’`]+)['"’`]/.exec(line)?.[1];
  const bare = /(?<![\w/])(~?\/[^\s:,'"’)]+)/.exec(line)?.[1];
  const before = /(?:^|[:\s])([^\s:]+): (?:read-only|permission denied|operation not permitted|device or resource busy|no such file)/i.exec(
    line,
  )?.[1];
  const path = quoted !== undefined && !/^(?:https?|git|ssh):/.test(quoted) ? quoted : (bare ?? before);
  return path === undefined ? null : absolute(path, ended);
}

function absolute(path: string, { cwd, home }: EndedCommand): string {
  return resolve(
    cwd,
    path.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, () => home),
  );
}

function isProtected(path: string): boolean {
  return /\/\.git\/(?:.*\/)?(?:hooks(?:\/|$)|config(?:\.worktree|\.lock)?$)|\/\.skein(?:\/(?!plan\.md$)|$)/.test(path);
}

function longestCover(path: string, places: string[]): number {
  return places.reduce((longest, place) => (isUnder(path, place) ? Math.max(longest, place.length) : longest), 0);
}

function isUnder(path: string, place: string): boolean {
  return path === place || path.startsWith(place.endsWith("/") ? place : `${place}/`);
}

function shortPath(path: string, home: string): string {
  return home !== "/" && isUnder(path, home) ? `~${path.slice(home.length)}` : path;
}
