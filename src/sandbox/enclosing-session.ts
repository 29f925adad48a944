// Finds the session of skein that this process runs in, and whether the user allowed it to start another.
// Every process of a session has a tag in its environment, and in the sandbox also a file. Enforces nothing.
import { lstatSync, readFileSync } from "node:fs";
import { rlimitTags } from "../kit/process/libc.ts";
import type { EnclosingSession, SessionTag } from "../protocol/api/policy.ts";

/**
 * Process names of an executor in a sandbox. Its environment can't be read there, so its commands find it by the name. A
 * command can't change the name.
 */
export const executorNames = { plain: "skein-executor", nesting: "skein-nesting" };

type Variables = Record<string, string | undefined>;

/** The tag inside the sandbox: a file that can't be removed, on macOS a path that can't be read. */
export const sessionTagPaths = { file: "/dev/skein", denied: "/private/var/db/skein-session" };

const variable = { session: "SKEIN_SESSION_ID", nesting: "SKEIN_NESTING" };

export function sessionTagVariables({ session, nesting }: SessionTag): Record<string, string> {
  return { [variable.session]: session, ...(nesting ? { [variable.nesting]: "allowed" } : {}) };
}

/**
 * Null outside of any session. Nesting is allowed only if every tag allows it, so that a forged tag has no effect: a
 * process can't change the tags of its parents, up to the first process of the session.
 */
export function findEnclosingSession(env: Variables): EnclosingSession | null {
  const tags = [sandboxTag(), tagIn(env), ...parentTags()].filter((tag) => tag !== null);
  return tags.find((tag) => !tag.nesting) ?? tags[0] ?? (hasRlimitTag() ? unknown : null);
}

const unknown: EnclosingSession = { session: null, nesting: false };

function tagIn(env: Variables): EnclosingSession | null {
  const session = env[variable.session];
  return session === undefined ? null : { session, nesting: env[variable.nesting] === "allowed" };
}

function sandboxTag(): EnclosingSession | null {
  if (process.platform === "darwin") return isDenied(sessionTagPaths.denied) ? unknown : null;
  // Checked first, because an exception costs more than everything else here.
  if (lstatSync(sessionTagPaths.file, { throwIfNoEntry: false }) === undefined) return null;
  const [, session, nesting] = tagPattern.exec(readText(sessionTagPaths.file) ?? "") ?? [];
  return session === undefined ? null : { session, nesting: nesting !== undefined };
}

/** The content of the tag file. */
export function sessionTagText({ session, nesting }: SessionTag): string {
  return `session ${session}${nesting ? " nesting" : ""}`;
}

const tagPattern = /^session (\S+)( nesting)?$/;

function isDenied(path: string): boolean {
  try {
    lstatSync(path, { throwIfNoEntry: false });
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The tags in the environments of all parent processes. */
function parentTags(): (EnclosingSession | null)[] {
  if (process.platform === "darwin") return parentTagsFromPs();
  const tags = [];
  // In a pid namespace that uses the /proc of another one, our own pid is wrong there, but "self" is right.
  for (let { parent: pid } = statOf("self"); pid > 0;) {
    const { name, parent } = statOf(pid);
    tags.push(tagAmong(environmentOf(pid), "\0") ?? (name === executorNames.plain ? unknown : null));
    pid = parent;
  }
  return tags;
}

/** "" for a process of another user: its environment can't be read, and it is not in our session. */
function environmentOf(pid: number): string {
  const path = `/proc/${pid}/environ`;
  const uid = process.getuid?.();
  return uid === 0 || lstatSync(path, { throwIfNoEntry: false })?.uid === uid ? (readText(path) ?? "") : "";
}

function statOf(pid: number | "self"): { name: string; parent: number } {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === null) return { name: "", parent: 0 };
  // The program name is in parentheses and may contain any character.
  const end = stat.lastIndexOf(")");
  return { name: stat.slice(stat.indexOf("(") + 1, end), parent: Number(stat.slice(end + 2).split(" ", 2)[1]) };
}

function tagAmong(entries: string, separator: string): EnclosingSession | null {
  if (!entries.includes(`${variable.session}=`)) return null;
  const pairs = entries.split(separator).map((entry) => entry.split("=", 2) as [string, string?]);
  return tagIn(Object.fromEntries(pairs));
}

function parentTagsFromPs(): (EnclosingSession | null)[] {
  const { stdout } = Bun.spawnSync(["/bin/ps", "-axwwE", "-o", "pid=,ppid=,command="], { stdin: "ignore", stderr: "ignore" });
  const rows = stdout
    .toString()
    .split("\n")
    .map((line) => /^ *(\d+) +(\d+) (.*)$/.exec(line)?.slice(1) ?? []);
  const processes = new Map(rows.map(([pid, parent, command = ""]) => [Number(pid), { parent: Number(parent), command }]));
  const tags = [];
  for (let row = processes.get(process.ppid); row !== undefined; row = processes.get(row.parent)) tags.push(tagAmong(row.command, " "));
  return tags;
}

/** Commands are started with a special rlimit. A process keeps it even without its parents and its environment. */
function hasRlimitTag(): boolean {
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
