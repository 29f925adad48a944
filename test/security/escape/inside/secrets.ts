// Attempts to read secrets. An attempt that returns the token has read one.
import * as fs from "node:fs";
import { join } from "node:path";
import { call, permitted } from "./calls.ts";
import { newPath } from "./change.ts";
import { readMemoryOf } from "./memory.ts";
import type { Attempt, World } from "./world.ts";

const secret = (name: string, run: (key: string, world: World) => unknown): Attempt => ({
  name,
  kind: "read",
  run: (world) => run(join(world.home, ".ssh/id_ed25519"), world),
});

const text = (path: string) => fs.readFileSync(path, "latin1");

/** Files in the home directory. The test writes the token into each of them. */
export const secretFiles = [
  ".ssh/id_ed25519",
  ".aws/credentials",
  ".gnupg/secring",
  ".kube/config",
  ".docker/config.json",
  ".config/gh/hosts.yml",
  ".netrc",
  ".npmrc",
  ".git-credentials",
  ".pgpass",
  ".cargo/credentials.toml",
  ".claude/.credentials.json",
  ".claude.json",
  ".codex/auth.json",
  ".gemini/oauth_creds.json",
  ".pi/auth.json",
  ".local/share/opencode/auth.json",
  ".bash_history",
  ".zsh_history",
  ".config/google-chrome/Cookies",
];

export const secrets: Attempt[] = [
  secret("read-key", text),
  secret("read-key-link-before", (_, { project }) => text(join(project, "links/key"))),
  secret("read-key-link-during", (key) => {
    const link = newPathOrTemp("key-link");
    fs.symlinkSync(key, link);
    return text(link);
  }),
  secret("read-key-hard-link-before", (_, { project }) => text(join(project, "links/hard-key"))),
  secret("read-key-hard-link-during", (key) => {
    const link = newPathOrTemp("hard-key");
    fs.linkSync(key, link);
    return text(link);
  }),
  secret("read-key-proc-self-root", (key) => text(`/proc/self/root${key}`)),
  secret("read-key-proc-pid-root", (key, { victim }) => text(`/proc/${victim.pid}/root${key}`)),
  secret("read-key-proc-pid-cwd", (_, { victim }) => text(`/proc/${victim.pid}/cwd/id_ed25519`)),
  secret("read-key-proc-pid-fd", (_, { victim }) => text(`/proc/${victim.pid}/fd/7`)),
  secret("read-key-chmod", (key) => {
    fs.chmodSync(key, 0o644);
    return text(key);
  }),
  secret("read-key-rename-cover", (_, { home }) => {
    fs.renameSync(join(home, ".ssh"), join(home, ".ssh-moved"));
    const key = text(join(home, ".ssh-moved/id_ed25519"));
    fs.renameSync(join(home, ".ssh-moved"), join(home, ".ssh"));
    return key;
  }),
  secret("read-key-umount-cover", (key, { home }) => {
    permittedOrPresent(() => call("umount2", join(home, ".ssh"), 2));
    return text(key);
  }),
  secret("list-key-names", (_, { home }) => fs.readdirSync(join(home, ".ssh")).join(" ")),
  secret("read-all-of-home", (_, { home }) => anyOf(secretFiles.map((name) => join(home, name)))),
  secret("read-netrc-chmod", (_, { home }) => {
    fs.chmodSync(join(home, ".netrc"), 0o644);
    return text(join(home, ".netrc"));
  }),
  secret("read-own-config", (_, { own }) => text(join(own.config, "config.jsonc"))),
  secret("read-own-data", (_, { own }) => anyOf(filesBelow(own.data))),
  secret("read-own-state", (_, { own }) => anyOf(filesBelow(own.state))),
  secret("read-environ", (_, { victim }) => text(`/proc/${victim.pid}/environ`)),
  secret("read-cmdline", (_, { victim }) => text(`/proc/${victim.pid}/cmdline`)),
  secret("read-environ-of-all", () => anyOf(fs.readdirSync("/proc").map((pid) => `/proc/${pid}/environ`))),
  { name: "read-mem", kind: "call", run: ({ victim }) => fs.closeSync(fs.openSync(`/proc/${victim.pid}/mem`, "r")) },
  { name: "read-maps", kind: "call", run: ({ victim }) => void text(`/proc/${victim.pid}/maps`).slice(0, 1) },
  { name: "process-vm-readv", kind: "call", run: ({ victim }) => readMemory(victim.pid) },
  secret("read-shadow", (_, { token }) => (text("/etc/shadow").includes(":") ? token : "")),
  secret("shared-memory", (_, { memory }) => readMemoryOf(memory)),
  secret("open-by-handle", (key) => openByHandle(key)),
];

/** Creates links in the private directory if the project is read-only. */
function newPathOrTemp(name: string): string {
  try {
    return newPath(name);
  } catch {
    const path = join(process.env["TMPDIR"] ?? "/tmp", name);
    fs.rmSync(path, { force: true });
    return path;
  }
}

function anyOf(paths: string[]): string {
  const texts = paths.flatMap((path) => {
    try {
      return [text(path)];
    } catch {
      return [];
    }
  });
  return texts.join("\n");
}

function filesBelow(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Reads from an unmapped address. A kernel that allows the call fails with EFAULT. */
function readMemory(pid: number): string {
  const nowhere = new BigUint64Array([4096n, 8n]);
  return permitted("process_vm_readv", pid, nowhere, 1, nowhere, 1, 0);
}

/** Opens the key by its file handle, as root can do outside, even if its path is covered by a mount. */
function openByHandle(key: string): string {
  const handle = Buffer.alloc(8 + 128);
  handle.writeUInt32LE(128, 0);
  const mount = new Int32Array(1);
  call("name_to_handle_at", -100, key, handle, mount, 0);
  const folder = fs.openSync("/", "r");
  const file = call("open_by_handle_at", folder, handle, 0);
  const buffer = Buffer.alloc(256);
  const length = fs.readSync(file, buffer, 0, 256, 0);
  return buffer.toString("latin1", 0, length);
}

/** Accepts EINVAL: without a sandbox nothing is mounted there. */
function permittedOrPresent(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if ((error as Error).message !== "EINVAL") throw error;
  }
}
