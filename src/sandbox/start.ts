// How a process is started under a policy: the words put before its command. What they do is done by the launcher
// and by programs that every Linux has; nothing is enforced here.
import type { Enforced, Policy } from "../protocol/policy.ts";
import type { LaunchOrder } from "./launch.ts";
import { seatbeltProfile } from "./seatbelt.ts";
import type { Walls } from "./walls.ts";

export type Tier = Enforced["tier"];

export type StartWishes = {
  command: string[];
  cwd: string;
  /** Null for `full`: the process is contained, and free otherwise. */
  walls: Walls | null;
  machine: Machine;
  /** How this program starts itself again. */
  self: string[];
};

/** What this machine can hold; found out by `probe.ts`. */
export type Machine = {
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
export function walledCommand({ walls, machine, self, command, cwd }: StartWishes): string[] {
  const { tier, tools } = machine;
  if (tier === "seatbelt") return walls === null ? command : ["/usr/bin/sandbox-exec", "-p", seatbeltProfile(walls), ...command];
  const apart = unshareWords(machine, []);
  if (walls === null || tier === "none") return [...tiedTo(tools, apart.length > 0), ...apart, ...command];
  const order: LaunchOrder = { walls, tier, cwd, command };
  const launcher = [...self, "__launch", JSON.stringify(order)];
  if (tier === "landlock") return [...tiedTo(tools, false), ...launcher];
  const more = ["--ipc", ...(walls.net === "off" ? ["--net"] : []), ...(machine.processes === "with-user" ? ["--keep-caps"] : [])];
  return [...tiedTo(tools, true), ...unshareWords(machine, more), ...launcher];
}

/** With a pid namespace its end is the end of all in it; without one the executor must live to end what it started. */
function tiedTo(tools: Machine["tools"], hasPidNamespace: boolean): string[] {
  return tools === null ? [] : [tools.setpriv, "--pdeathsig", hasPidNamespace ? "KILL" : "TERM"];
}

/** What a policy comes to on this machine. */
export function enforcedBy(machine: Machine, policy: Policy): Enforced {
  const { name, net } = policy;
  const processes = machine.processes !== "no";
  if (name === "full") return { policy: name, tier: "none", fs: false, net: "on", secrets: false, processes, missing: [] };
  if (machine.tier === "none") {
    const missing = ["fs", "net", "secrets", ...(processes ? [] : ["processes"])];
    return { policy: name, tier: "none", fs: false, net: "on", secrets: false, processes, missing };
  }
  const { tier } = machine;
  return { policy: name, tier, fs: true, net, secrets: true, processes: tier === "namespaces", missing: [...notHeld[tier]] };
}

/** What each tier does not hold, in words; docs/SANDBOX.md says more. */
const notHeld: Record<Exclude<Tier, "none">, readonly string[]> = {
  namespaces: [],
  landlock: ["processes", "git hooks and config and .skein inside the project", "modes and times outside", "names of secrets"],
  seatbelt: ["processes", "servers on the loopback of this machine"],
};

function unshareWords({ tools, processes }: Machine, more: string[]): string[] {
  if (tools === null || processes === "no") return [];
  const user = processes === "with-user" ? ["--user", "--map-current-user"] : [];
  return [tools.unshare, ...user, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", ...more, "--"];
}
