// Attempts to get more rights, another view of the machine, or access to the kernel. Attempts that would do harm without
// a sandbox only test whether the kernel would accept them.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { call, permitted } from "./calls.ts";
import { newPath } from "./change.ts";
import type { Attempt, World } from "./world.ts";

const currentDirectory = -100;

const kernel = (name: string, run: (world: World, directory: string) => unknown): Attempt => ({ name, kind: "call", run });
/** Succeeds if the program exits with 0. */
const program = (name: string, argv: (world: World) => string[]): Attempt => kernel(name, (world) => runProgram(argv(world)));

const machineFiles = [
  "/proc/sys/kernel/core_pattern",
  "/proc/sys/kernel/modprobe",
  "/proc/sys/vm/overcommit_memory",
  "/proc/sys/net/ipv4/ip_forward",
  "/proc/sysrq-trigger",
  "/proc/irq/default_smp_affinity",
];
const devices = "mem kmem port kmsg kvm fuse net/tun loop-control loop0 vda sda nvme0n1 xvda vhost-vsock mapper/control uinput hwrng".split(
  " ",
);

export const kernelAttempts: Attempt[] = [
  kernel("mount-tmpfs", (_, directory) => {
    call("mount", "tmpfs", join(directory, "dir"), "tmpfs", 0, "size=4k");
    call("umount2", join(directory, "dir"), 2);
  }),
  kernel("mount-bind", ({ home }, directory) => {
    call("mount", home, join(directory, "dir"), null, 4096, null);
    call("umount2", join(directory, "dir"), 2);
  }),
  kernel("mount-remount", ({ home }) => permitted("mount", null, join(home, "nothing-here"), null, 32 | 4096, null)),
  kernel("mount-fsopen", () => call("close", call("fsopen", "tmpfs", 0))),
  kernel("mount-open-tree", () => call("close", call("open_tree", currentDirectory, "/", 1))),
  kernel("mount-setattr", () => permitted("mount_setattr", currentDirectory, "/nothing-here", 0, new BigUint64Array([0n, 1n, 0n, 0n]), 32)),
  kernel("pivot-root", () => permitted("pivot_root", "/nothing-here", "/nothing-here")),
  program("chroot", () => ["chroot", "/", "true"]),
  program("unshare-user", () => ["unshare", "--user", "true"]),
  program("unshare-user-mount", () => ["unshare", "--user", "--map-root-user", "--mount", "true"]),
  program("unshare-mount", () => ["unshare", "--mount", "true"]),
  program("unshare-net", () => ["unshare", "--net", "true"]),
  program("nsenter-mount", ({ victim }) => ["nsenter", "--target", String(victim.pid), "--mount", "true"]),
  program("nsenter-net-of-1", () => ["nsenter", "--target", "1", "--net", "true"]),
  kernel("setuid-program", ({ setuid }) => {
    if (setuid === null) throw new Error("there is none");
    const uid = runProgram([setuid, "-u"]).trim();
    if (uid !== "0") throw new Error(`it runs as ${uid}`);
  }),
  kernel("machine-files", () => anyOpens(machineFiles)),
  kernel("sys-files", () =>
    anyOpens(["/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/ksm/run", "/sys/module/kernel/parameters/panic"]),
  ),
  kernel("cgroup-files", () =>
    anyOpens(groups().flatMap((group) => ["release_agent", "notify_on_release", "cgroup.procs"].map((name) => join(group, name)))),
  ),
  kernel("cgroup-mkdir", () => {
    const paths = groups().map((group) => join(group, `skein-escape-${process.pid}`));
    const created = paths.filter((path) => succeeds(() => fs.mkdirSync(path)));
    for (const path of created) fs.rmdirSync(path);
    if (created.length === 0) throw new Error("none could be created");
  }),
  kernel("devices", () =>
    anyOpens(
      devices.map((name) => join("/dev", name)),
      "r",
    ),
  ),
  kernel("devices-by-number", () => {
    const path = newPath("disk");
    call("mknodat", currentDirectory, path, 0o060600, fs.statSync("/").dev);
    fs.closeSync(fs.openSync(path, "r"));
  }),
  kernel("null-by-number", () => {
    const path = newPath("null");
    call("mknodat", currentDirectory, path, 0o020600, 0x103);
    fs.closeSync(fs.openSync(path, "r"));
  }),
  kernel("bpf", () => permitted("bpf", 0, Buffer.alloc(64), 64)),
  kernel("keyctl", () => permitted("keyctl", 0, -4, 1)),
  kernel("add-key", () => permitted("add_key", "user", "skein-escape", "x", 1, -2)),
  kernel("userfaultfd", () => permitted("userfaultfd", 1)),
  kernel("perf-event", () => permitted("perf_event_open", Buffer.alloc(128), 0, -1, -1, 0)),
  kernel("io-uring", () => permitted("io_uring_setup", 1, Buffer.alloc(120))),
  kernel("fanotify", () => permitted("fanotify_init", 0, 0)),
  kernel("load-module", () => permitted("init_module", null, 0, "")),
  kernel("swapon", () => permitted("swapon", "/nothing-here", 0)),
  kernel("reboot", () => permitted("reboot", 0, 0, 0, 0)),
  kernel("calls-of-32-bit", ({ bun }) => runProgram([bun, join(import.meta.dir, "old-calls.ts"), "int80"])),
  kernel("calls-of-x32", ({ bun }) => runProgram([bun, join(import.meta.dir, "old-calls.ts"), "x32"])),
];

function runProgram([command, ...args]: string[]): string {
  const { status, signal, stdout, stderr, error } = spawnSync(command!, args, { encoding: "utf8", timeout: 10_000 });
  if (status !== 0) throw new Error(`${error?.message ?? ""} ${signal ?? status} ${stderr.split("\n", 1)[0]}`.trim());
  return stdout;
}

/** Opens the files and never writes. */
function anyOpens(paths: string[], how = "r+"): string {
  const open = paths.filter((path) =>
    succeeds(() => fs.closeSync(fs.openSync(path, fs.constants[how === "r" ? "O_RDONLY" : "O_WRONLY"] | fs.constants.O_NONBLOCK))),
  );
  if (open.length === 0) throw new Error("none could be opened");
  return open.join(" ");
}

function groups(): string[] {
  const root = "/sys/fs/cgroup";
  const names = fs.readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [root, ...names.map((entry) => join(root, entry.name))];
}

function succeeds(run: () => void): boolean {
  try {
    run();
    return true;
  } catch {
    return false;
  }
}
