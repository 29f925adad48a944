// Attempts to change files outside of the project. Each has its own directory there, which is checked from outside.
import * as fs from "node:fs";
import { dirname, join, relative } from "node:path";
import { call } from "./calls.ts";
import type { Attempt, World } from "./world.ts";

const bad = "changed by a tool";
const pathOnly = 0o10000000;
const currentDirectory = -100;

const change = (name: string, run: (victim: string, world: World, directory: string) => unknown): Attempt => ({
  name,
  kind: "change",
  run: (world, directory) => run(join(directory, "victim"), world, directory),
});

export const changes: Attempt[] = [
  change("write-absolute", (victim) => fs.writeFileSync(victim, bad)),
  change("create-absolute", (victim) => fs.writeFileSync(`${victim}-2`, bad)),
  change("append", (victim) => fs.appendFileSync(victim, bad)),
  change("write-dot-dot", (victim, { project }) => fs.writeFileSync(relative(project, victim), bad)),
  change("write-link-before", (_, { project }) => fs.writeFileSync(join(project, "links/write-link-before/victim"), bad)),
  change("create-in-link-before", (_, { project }) => fs.writeFileSync(join(project, "links/create-in-link-before/other"), bad)),
  change("write-link-during", (victim) => {
    const link = newPath("link-during");
    fs.symlinkSync(victim, link);
    fs.writeFileSync(link, bad);
  }),
  change("write-hard-link-during", (victim) => {
    const link = newPath("hard-link-during");
    fs.linkSync(victim, link);
    fs.writeFileSync(link, bad);
  }),
  change("write-hard-link-before", (_, { project }) => fs.writeFileSync(join(project, "links/hard"), bad)),
  change("rename-out", (victim) => {
    const file = newPath("rename-out");
    fs.writeFileSync(file, bad);
    fs.renameSync(file, victim);
  }),
  change("rename-in", (victim) => fs.renameSync(victim, newPath("rename-in"))),
  change("rename-exchange", (victim) => {
    const file = newPath("rename-exchange");
    fs.writeFileSync(file, bad);
    call("renameat2", currentDirectory, file, currentDirectory, victim, 2);
  }),
  change("truncate", (victim) => fs.truncateSync(victim, 0)),
  change("unlink", (victim) => fs.unlinkSync(victim)),
  change("rmdir", (_, __, directory) => fs.rmdirSync(join(directory, "dir"))),
  change("mkdir", (_, __, directory) => fs.mkdirSync(join(directory, "dir-2"))),
  change("symlink-outside", (_, __, directory) => fs.symlinkSync("/", join(directory, "link"))),
  change("make-fifo", (_, __, directory) => call("mknodat", currentDirectory, join(directory, "fifo"), 0o010644, 0)),
  change("chmod", (victim) => fs.chmodSync(victim, 0o666)),
  change("chown", (victim) => fs.chownSync(victim, 1, 1)),
  change("utime", (victim) => fs.utimesSync(victim, 1, 1)),
  { name: "setxattr", kind: "call", run: (_, directory) => call("setxattr", join(directory, "victim"), "user.skein", "x", 1, 0) },
  change("write-proc-self-root", (victim) => fs.writeFileSync(`/proc/self/root${victim}`, bad)),
  change("write-proc-1-root", (victim) => fs.writeFileSync(`/proc/1/root${victim}`, bad)),
  change("write-proc-pid-root", (victim, world) => fs.writeFileSync(`/proc/${world.victim.pid}/root${victim}`, bad)),
  change("write-proc-pid-cwd", (victim, world) => {
    const from = join(world.home, ".ssh");
    fs.writeFileSync(`/proc/${world.victim.pid}/cwd/${relative(from, victim)}`, bad);
  }),
  change("write-proc-pid-fd", (_, world) => fs.writeFileSync(`/proc/${world.victim.pid}/fd/8`, bad)),
  change("write-reopened-path", (victim) => {
    const file = fs.openSync(victim, pathOnly);
    fs.writeFileSync(`/proc/self/fd/${file}`, bad);
  }),
  change("write-inherited-fd", () => void fs.writeSync(9, bad)),
  change("write-found-fd", (victim) => {
    const matches = openFiles().filter((path) => linkAt(path) === victim);
    if (matches.length === 0) throw new Error("no process here has it open");
    for (const path of matches) fs.writeFileSync(path, bad);
  }),
  change("write-in-real-tmp", (_, { token }) => fs.writeFileSync(`/tmp/skein-escape-${token}/write-in-real-tmp`, bad)),
  change("write-in-home", (_, { home }) => fs.writeFileSync(join(home, ".profile"), bad)),
  change("write-in-cache", (_, { home }) => fs.writeFileSync(join(home, ".cache/from-inside"), bad)),
  change("setuid-in-project", () => {
    const file = newPath("setuid");
    fs.copyFileSync("/bin/sh", file);
    fs.chmodSync(file, 0o4755);
  }),
];

/** Returns a path in the project that does not exist yet. */
export function newPath(name: string): string {
  const path = join(process.cwd(), "made", name);
  fs.mkdirSync(dirname(path), { recursive: true });
  fs.rmSync(path, { force: true });
  return path;
}

function openFiles(): string[] {
  const pids = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      return fs.readdirSync(`/proc/${pid}/fd`).map((name) => `/proc/${pid}/fd/${name}`);
    } catch {
      return [];
    }
  });
}

function linkAt(path: string): string {
  try {
    return fs.readlinkSync(path);
  } catch {
    return "";
  }
}
