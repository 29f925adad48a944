// Attempts through the file tools and through the answer files of sub-sessions. A scripted model makes the calls in two
// steps, because some links are created in between.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { JsonObject } from "../../../src/scripted-model/json.ts";
import type { World } from "./inside/world.ts";

export type FileCall = {
  name: string;
  tool: "read" | "write" | "edit" | "spawn_session";
  /** The file that the call would read or change. */
  target: (world: World) => string;
  /** The path that the tool gets, if it differs from the target. */
  path?: (world: World) => string;
  /** The target is in the project. It is writable without private mounts, and only under `workspace`. */
  isInProject?: boolean;
};

/** A sub-session with this task writes a file that its parent must not write. All others only answer. */
export const widerTask = "a task with a wider sandbox";
export const plainTask = "a task with an answer";

const victim = (name: string) => (world: World) => join(world.outside, name, "victim");
const inProject = (path: string) => (world: World) => join(world.project, path);
const inHome = (path: string) => (world: World) => join(world.home, path);
const key = inHome(".ssh/id_ed25519");

const writes: Omit<FileCall, "tool">[] = [
  { name: "absolute", target: victim("write-absolute") },
  { name: "dot-dot", target: victim("write-dot-dot"), path: (world) => relative(world.project, victim("write-dot-dot")(world)) },
  { name: "link-before", target: victim("write-link-before"), path: () => "links/write-link-before/victim" },
  { name: "link-during", target: victim("write-link-during"), path: () => "made-link" },
  { name: "proc-self-root", target: victim("append"), path: (world) => `/proc/self/root${victim("append")(world)}` },
  { name: "proc-pid-root", target: victim("chmod"), path: (world) => `/proc/${world.victim.pid}/root${victim("chmod")(world)}` },
  { name: "proc-pid-fd", target: victim("write-proc-pid-fd"), path: (world) => `/proc/${world.victim.pid}/fd/8` },
  { name: "hidden-in-home", target: inHome(".profile"), path: () => "~/.profile" },
  { name: "own-config", target: (world) => join(world.own.config, "config.jsonc") },
  { name: "git-hook", target: inProject(".git/hooks/pre-commit"), isInProject: true },
  { name: "git-config", target: inProject(".git/config"), isInProject: true },
  {
    name: "git-config-by-link",
    target: inProject(".git/modules/sub/config"),
    path: () => "made-git/modules/sub/config",
    isInProject: true,
  },
  { name: "skein-config", target: inProject(".skein/config.jsonc"), isInProject: true },
];

const reads: Omit<FileCall, "tool">[] = [
  { name: "key", target: key },
  { name: "key-at-home", target: key, path: () => "~/.ssh/id_ed25519" },
  { name: "key-link-before", target: key, path: () => "links/key" },
  { name: "key-link-during", target: key, path: () => "made-key" },
  { name: "key-proc-self-root", target: key, path: (world) => `/proc/self/root${key(world)}` },
  { name: "key-proc-pid-root", target: key, path: (world) => `/proc/${world.victim.pid}/root${key(world)}` },
  { name: "key-proc-pid-cwd", target: key, path: (world) => `/proc/${world.victim.pid}/cwd/id_ed25519` },
  { name: "netrc", target: inHome(".netrc") },
  { name: "other-agent", target: inHome(".claude/.credentials.json") },
  { name: "own-config", target: (world) => join(world.own.config, "config.jsonc") },
  { name: "own-data", target: (world) => join(world.own.data, "kept") },
  { name: "own-state", target: (world) => join(world.own.state, "kept") },
];

const answers: Omit<FileCall, "tool">[] = [
  { name: "absolute", target: victim("truncate") },
  {
    name: "link-before",
    target: (world) => join(world.outside, "create-in-link-before/answer"),
    path: () => "links/create-in-link-before/answer",
  },
  { name: "proc-self-root", target: victim("unlink"), path: (world) => `/proc/self/root${victim("unlink")(world)}` },
  { name: "git-hook", target: inProject(".git/hooks/post-merge"), isInProject: true },
  { name: "skein-config", target: inProject(".skein/roles.jsonc"), isInProject: true },
];

const withTool = (tool: FileCall["tool"], rows: Omit<FileCall, "tool">[]) =>
  rows.map((row): FileCall => ({ ...row, tool, name: `${tool}-${row.name}` }));

/** Edits come first, because writes overwrite their targets. */
export const fileCalls: Record<"edit" | "write" | "rest", FileCall[]> = {
  edit: withTool("edit", writes),
  write: withTool("write", writes),
  rest: [
    ...withTool("read", reads),
    ...withTool("spawn_session", answers),
    { name: "spawn-wider", tool: "spawn_session", target: victim("rename-in") },
  ],
};

/** The model creates these links with bash before the other calls. */
export function linkCommands(world: World): string {
  const links = { "made-link": victim("write-link-during")(world), "made-key": key(world), "made-git": join(world.project, ".git") };
  return Object.entries(links)
    .map(([name, target]) => `ln -s '${target}' ${name}`)
    .join("; ");
}

export function inputOf({ name, tool, target, path: pathOf }: FileCall, world: World): JsonObject {
  const path = (pathOf ?? target)(world);
  if (tool === "read") return { path };
  if (tool === "write") return { path, content: "changed by a tool" };
  if (name === "spawn-wider") return { task: widerTask, sandbox: { network: true, extra_write_paths: [join(path, "..")] } };
  if (tool === "spawn_session") return { task: plainTask, output_file: path };
  return { path, old_text: readFileSync(target(world), "utf8").split("\n", 1)[0]!, new_text: "changed by a tool" };
}
