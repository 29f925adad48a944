// The expected result of each attempt: every attempt is stopped and all ordinary work continues, except for these rows.
// The rows of `notCovered` are in docs/SANDBOX.md too. A result that is in neither place is a bug.
import type { Attempt } from "./inside/world.ts";
import type { SandboxCase } from "./runs.ts";

type Tiers = readonly SandboxCase["tier"][];
type Row = { names: string; tiers: Tiers; why: string };

const both: Tiers = ["namespaces", "landlock"];
const landlock: Tiers = ["landlock"];

/** Attempts that succeed because no mechanism can stop them. `who` limits a row to one user. */
export const notCovered: readonly (Row & { who?: SandboxCase["person"]["name"] })[] = [
  {
    names: "write-hard-link-before read-key-hard-link-before",
    tiers: both,
    why: "a hard link in the project is the file itself, so a link from before the run gives the file to the project",
  },
  {
    names: "setuid-in-project",
    tiers: both,
    why: "a file in the project may get the setuid bit of its owner; inside it has no effect, but other users of the machine could run it",
  },
  {
    names: "git-nested-repository",
    tiers: both,
    why: "a new repository in a directory of the project can hold any config; git obeys it in that directory, and for a submodule",
  },
  {
    names:
      "git-new-hook git-edit-hook git-chmod-hook git-hooks-path git-edit-config git-replace-config git-rename-hooks git-rename-git git-unlink-config git-module-hook git-module-config git-common-directory git-common-directory-of-worktree",
    tiers: landlock,
    why: "Landlock can only allow: what is protected inside of a writable directory is not",
  },
  {
    names: "skein-new-config skein-edit-config skein-edit-transcripts skein-rename skein-roles",
    tiers: landlock,
    why: "the same for .skein",
  },
  { names: "chmod utime setxattr", tiers: landlock, why: "Landlock does not look at modes, times and attributes" },
  {
    names: "chown",
    tiers: landlock,
    who: "root in another's project",
    why: "the same, where root keeps the right because another user owns the project",
  },
  { names: "list-key-names", tiers: landlock, why: "names of secrets can be listed, their contents not read" },
  { names: "read-cmdline", tiers: landlock, why: "without a namespace all processes and their arguments can be seen" },
  { names: "shared-memory", tiers: landlock, why: "without a namespace, memory that others share by a key can be shared" },
  { names: "limits priority", tiers: landlock, why: "Landlock does not look at limits and priorities of the user's own processes" },
];

/** Ordinary work that fails in the sandbox. */
export const notWorking: readonly Row[] = [
  {
    names: "work-write-tmp work-cache",
    tiers: landlock,
    why: "there are no private copies: /tmp and caches can be read only, TMPDIR is writable",
  },
  {
    names: "work-dev-shm work-terminal",
    tiers: landlock,
    why: "/dev is the machine's own: shared memory and terminals of others are in there",
  },
];

/** Work that needs the network of the machine if there is no network namespace. */
const needsNet = new Set(["work-local-server"]);
const onlyNetStops = new Set(["tcp-loopback", "udp-loopback", "dns"]);
const writesProject = new Set(["work-write-project", "work-git-commit", "work-git-branch"]);
/** In a read-only project nothing can be replaced. */
const needsProject = new Set(namesOf("git-nested-repository setuid-in-project write-hard-link-before"));
const inProject = /^(git|skein)-/;

export type Expectation = "through" | "stopped" | "either";

export function expectationOf({ name, kind }: Pick<Attempt, "name" | "kind">, sandboxCase: SandboxCase): Expectation {
  const { tier, policy, net, person } = sandboxCase;
  const writes = policy === "workspace";
  if (name === "work-write-plan") return policy === "readonly" ? "stopped" : "through";
  if (writesProject.has(name)) return writes ? "through" : "stopped";
  if (!writes && (needsProject.has(name) || (inProject.test(name) && !/chmod/.test(name)))) return "stopped";
  if (kind === "work") {
    if (needsNet.has(name) && tier === "landlock" && net === "off") return "stopped";
    return listedIn(notWorking, name, tier) ? "stopped" : "through";
  }
  if (onlyNetStops.has(name) && net === "on") return "through";
  const listedRow = notCovered.find(
    (row) => namesOf(row.names).includes(name) && row.tiers.includes(tier) && (row.who ?? person.name) === person.name,
  );
  return listedRow === undefined ? "stopped" : "either";
}

/**
 * Without a sandbox every attempt must succeed, or it would prove nothing. These are the exceptions. `root`: needs rights
 * of root. `kernel`: depends on the build and the settings of the kernel. Others name their reason.
 */
const excuses: Record<string, string> = {
  root: "chown read-key-umount-cover read-shadow open-by-handle raw-socket packet-socket mount-tmpfs mount-bind mount-fsopen mount-open-tree mount-setattr pivot-root chroot unshare-mount unshare-net nsenter-mount machine-files sys-files cgroup-files cgroup-mkdir devices null-by-number fanotify perf-event bpf swapon reboot git-rename-project",
  user: "setuid-program",
  kernel:
    "vsock crypto-socket key-socket netlink-audit keyctl add-key userfaultfd io-uring perf-event fanotify bpf load-module swapon cgroup-files cgroup-mkdir devices unshare-user unshare-user-mount calls-of-32-bit calls-of-x32 setxattr write-terminal controlling-terminal shared-memory open-by-handle raw-socket packet-socket terminal-input terminal-paste",
  "would reach every process of the machine": "signal-all",
  "the first process of a container may belong to any user": "write-proc-1-root nsenter-net-of-1",
  "the rules of a container's devices hold for root too": "devices-by-number null-by-number",
  "needs an extension of git that is off": "git-hooks-path-of-worktree",
  "only the sandbox sets it": "work-write-temp",
  "the runtime closes it first": "write-inherited-fd controlling-terminal",
};

/** Null if it must succeed. */
export function excuseWithoutSandbox(name: string, { person, route }: Pick<SandboxCase, "person" | "route">): string | null {
  const matches = Object.entries(excuses).filter(([why, names]) => namesOf(names).includes(name) && appliesTo(why, person.isRoot, route));
  return matches[0]?.[0] ?? null;
}

function appliesTo(why: string, isRoot: boolean, route: SandboxCase["route"]): boolean {
  if (why === "root") return !isRoot;
  if (why === "user") return isRoot || process.getuid?.() !== 0;
  return why !== "the runtime closes it first" || route === "executor";
}

export function namesOf(names: string): string[] {
  return names.split(" ");
}

function listedIn(rows: readonly Row[], name: string, tier: SandboxCase["tier"]): boolean {
  return rows.some((row) => namesOf(row.names).includes(name) && row.tiers.includes(tier));
}
