// Whether this process runs inside a session of skein, which one, and whether a person allowed that it starts another.
// Every process of a session is marked in its environment, behind walls also by a file; nothing is enforced here.
import { lstatSync, readFileSync } from "node:fs";
import { rlimitTags } from "../kit/process/libc.ts";
import type { EnclosingSession, SessionTag } from "../protocol/api/policy.ts";

type Variables = Record<string, string | undefined>;

/** What walls show to those inside: a file that they can't remove, on macOS a place that they can't look at. */
export const sessionTagPaths = { file: "/dev/skein", denied: "/private/var/db/skein-session" };

const variable = { session: "SKEIN_SESSION_ID", nesting: "SKEIN_NESTING" };

/** What the environment of a session's processes says. */
export function sessionTagVariables({ session, nesting }: SessionTag): Record<string, string> {
  return { [variable.session]: session, ...(nesting ? { [variable.nesting]: "allowed" } : {}) };
}

/**
 * Null when no session is around this process. Whoever is marked must allow it, so that a mark which is made up allows
 * nothing: those above, up to the process that the session began with, are out of its reach.
 */
export function findEnclosingSession(env: Variables): EnclosingSession | null {
  const marks = [markOfWalls(), markIn(env), ...marksAbove()].filter((mark) => mark !== null);
  return marks.find((mark) => !mark.nesting) ?? marks[0] ?? (isSigned() ? unknown : null);
}

const unknown: EnclosingSession = { session: null, nesting: false };

function markIn(env: Variables): EnclosingSession | null {
  const session = env[variable.session];
  return session === undefined ? null : { session, nesting: env[variable.nesting] === "allowed" };
}

function markOfWalls(): EnclosingSession | null {
  if (process.platform === "darwin") return isDenied(sessionTagPaths.denied) ? unknown : null;
  // Looked for first: an exception costs more than all the rest.
  if (lstatSync(sessionTagPaths.file, { throwIfNoEntry: false }) === undefined) return null;
  const [, session, nesting] = markPattern.exec(readText(sessionTagPaths.file) ?? "") ?? [];
  return session === undefined ? null : { session, nesting: nesting !== undefined };
}

/** As the file holds it. */
export function sessionTagText({ session, nesting }: SessionTag): string {
  return `session ${session}${nesting ? " nesting" : ""}`;
}

const markPattern = /^session (\S+)( nesting)?$/;

function isDenied(path: string): boolean {
  try {
    lstatSync(path, { throwIfNoEntry: false });
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** By the environments that they were started with. */
function marksAbove(): (EnclosingSession | null)[] {
  if (process.platform === "darwin") return marksByPs();
  const marks = [];
  // In a pid namespace without a /proc of its own, only /proc itself knows our number.
  for (let pid = parentOf("self"); pid > 0; pid = parentOf(pid)) marks.push(markAmong(environmentOf(pid), "\0"));
  return marks;
}

/** Another user's can't be read, and is none of ours. */
function environmentOf(pid: number): string {
  const path = `/proc/${pid}/environ`;
  const uid = process.getuid?.();
  return uid === 0 || lstatSync(path, { throwIfNoEntry: false })?.uid === uid ? (readText(path) ?? "") : "";
}

function parentOf(pid: number | "self"): number {
  const stat = readText(`/proc/${pid}/stat`);
  // The name in parentheses may contain anything, a parenthesis too.
  return stat === null ? 0 : Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ", 2)[1]);
}

function markAmong(entries: string, separator: string): EnclosingSession | null {
  if (!entries.includes(`${variable.session}=`)) return null;
  const pairs = entries.split(separator).map((entry) => entry.split("=", 2) as [string, string?]);
  return markIn(Object.fromEntries(pairs));
}

function marksByPs(): (EnclosingSession | null)[] {
  const { stdout } = Bun.spawnSync(["/bin/ps", "-axwwE", "-o", "pid=,ppid=,command="], { stdin: "ignore", stderr: "ignore" });
  const rows = stdout
    .toString()
    .split("\n")
    .map((line) => /^ *(\d+) +(\d+) (.*)$/.exec(line)?.slice(1) ?? []);
  const known = new Map(rows.map(([pid, parent, command = ""]) => [Number(pid), { parent: Number(parent), command }]));
  const marks = [];
  for (let row = known.get(process.ppid); row !== undefined; row = known.get(row.parent)) marks.push(markAmong(row.command, " "));
  return marks;
}

/** Who has left all parents and the environment behind still has the limit that commands are started with. */
function isSigned(): boolean {
  const limits = process.platform === "linux" ? readText("/proc/self/limits") : null;
  if (limits === null) return false;
  const value = Number.parseInt(limits.slice(limits.indexOf("Max msgqueue size") + "Max msgqueue size".length));
  return value >= rlimitTags.start && value < rlimitTags.end;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
