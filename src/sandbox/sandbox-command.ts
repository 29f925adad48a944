// How a process is started under a policy: the words put before its command. What they do is done by the launcher
// and by programs that every Linux has; nothing is enforced here.
import type { EnforcedPolicy, Policy } from "../protocol/api/policy.ts";
import type { LaunchRequest } from "./launcher.ts";
import { seatbeltProfile } from "./seatbelt.ts";
import type { SandboxRules } from "./rules.ts";

export type Tier = EnforcedPolicy["tier"];

export type SandboxCommandOptions = {
  command: string[];
  cwd: string;
  /** Null for `full`: the process is contained, and free otherwise. */
  rules: SandboxRules | null;
  support: SandboxSupport;
  /** How this program starts itself again. */
  selfCommand: string[];
};

/** What this machine can hold; found out by `probe.ts`. */
export type SandboxSupport = {
  tier: Tier;
  /** Whether processes can be put into a namespace of their own, and whether that takes one for users too. */
  processes: "plain" | "with-user" | "no";
  /** util-linux's programs, which make namespaces and tie a child's life to ours; absolute. */
  tools: { unshare: string; setpriv: string } | null;
  /** Why it is not more, and what would help. */
  why: string | null;
  hint: string | null;
};

/** The words to start it with. Without walls it is the command itself, contained as well as the machine can. */
export function sandboxCommand({ rules: walls, support: machine, selfCommand: self, command, cwd }: SandboxCommandOptions): string[] {
  const { tier, tools } = machine;
  if (tier === "seatbelt") return walls === null ? command : ["/usr/bin/sandbox-exec", "-p", seatbeltProfile(walls), ...command];
  const apart = unshareArgs(machine, []);
  if (walls === null || tier === "none") return [...parentDeathArgs(tools, apart.length > 0), ...apart, ...command];
  const order: LaunchRequest = { rules: walls, tier, cwd, command };
  const launcher = [...self, "__launch", JSON.stringify(order)];
  if (tier === "landlock") return [...parentDeathArgs(tools, false), ...launcher];
  const more = ["--ipc", ...(walls.net === "off" ? ["--net"] : []), ...(machine.processes === "with-user" ? ["--keep-caps"] : [])];
  return [...parentDeathArgs(tools, true), ...unshareArgs(machine, more), ...launcher];
}

/** With a pid namespace its end is the end of all in it; without one the executor must live to end what it started. */
function parentDeathArgs(tools: SandboxSupport["tools"], hasPidNamespace: boolean): string[] {
  return tools === null ? [] : [tools.setpriv, "--pdeathsig", hasPidNamespace ? "KILL" : "TERM"];
}

/** What a policy comes to on this machine. */
export function enforcedPolicy(support: SandboxSupport, policy: Policy): EnforcedPolicy {
  const { name, net } = policy;
  const processes = support.processes !== "no";
  if (name === "full") return { policy: name, tier: "none", fs: false, net: "on", secrets: false, processes, missing: [] };
  if (support.tier === "none") {
    const missing = ["fs", "net", "secrets", ...(processes ? [] : ["processes"])];
    return { policy: name, tier: "none", fs: false, net: "on", secrets: false, processes, missing };
  }
  const { tier } = support;
  return { policy: name, tier, fs: true, net, secrets: true, processes: tier === "namespaces", missing: [...notHeld[tier]] };
}

/** What each tier does not hold, in words; docs/SANDBOX.md says more. */
const notHeld: Record<Exclude<Tier, "none">, readonly string[]> = {
  namespaces: [],
  landlock: ["processes", "git hooks and config and .skein inside the project", "modes and times outside", "names of secrets"],
  seatbelt: ["processes", "servers on the loopback of this machine"],
};

function unshareArgs({ tools, processes }: SandboxSupport, more: string[]): string[] {
  if (tools === null || processes === "no") return [];
  const user = processes === "with-user" ? ["--user", "--map-current-user"] : [];
  return [tools.unshare, ...user, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", ...more, "--"];
}
