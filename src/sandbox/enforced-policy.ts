// Computes how much of a policy this machine enforces. It is needed before the first request, so it loads nothing else.
import { type EnforcedPolicy, namedHosts, type Policy } from "../protocol/api/policy.ts";
import type { SandboxSupport, Tier } from "./sandbox-command.ts";

/** The part of a policy that this machine enforces. */
export function enforcedPolicy(support: SandboxSupport, policy: Policy): EnforcedPolicy {
  const { name, net } = policy;
  const processes = support.processes !== "no";
  if (name === "full") return { policy: name, tier: "none", fs: false, net: "on", secrets: false, processes, missing: [] };
  if (support.tier === "none") {
    const missing = ["fs", "net", "secrets", ...(processes ? [] : ["processes"])];
    return { policy: name, tier: "none", fs: false, net: "on", secrets: false, processes, missing };
  }
  const { tier } = support;
  const hasHosts = namedHosts(policy).length > 0;
  const missing = [...gaps[tier], ...(support.lacksLandlock ? gapsWithoutLandlock : []), ...(hasHosts ? hostGaps(support) : [])];
  const reached = hasHosts && canReachNamedHosts(support) ? "hosts" : net;
  return { policy: name, tier, fs: true, net: reached, secrets: true, processes: tier === "namespaces", missing };
}

/** Named hosts need one open port. Landlock can leave one open since its version 4. */
export function canReachNamedHosts({ tier, landlockVersion }: SandboxSupport): boolean {
  return tier !== "none" && (tier !== "landlock" || landlockVersion >= 4);
}

/** Landlock limits the number of a port, and not its host. */
function hostGaps(support: SandboxSupport): string[] {
  if (support.tier !== "landlock") return [];
  return [canReachNamedHosts(support) ? "other hosts at the port of skein's proxy" : "named hosts, which can't be reached"];
}

/** The gaps of each tier. docs/SANDBOX.md explains them. */
const gaps: Record<Exclude<Tier, "none">, readonly string[]> = {
  namespaces: [],
  landlock: ["processes", "git hooks and config and .skein inside the project", "modes and times outside", "names of secrets"],
  seatbelt: ["processes", "servers on the loopback of this machine"],
};

/** A read-only mount does not stop writing to a named pipe, and a mount over a secret ends when the secret is replaced. */
const gapsWithoutLandlock = ["named pipes outside", "secrets that are replaced or created while a tool runs"];
