// Decides for a turn whether it is sandboxed here, and refuses links that no sandbox can protect. It is needed before the
// first request, so it builds no rules.
import { shellQuote } from "../../kit/text/shell-quote.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Policy } from "../../protocol/api/policy.ts";
import type { TurnInput } from "../../protocol/api/ports.ts";
import type { NamedPaths } from "../../sandbox/git-config.ts";
import { findUnprotectableLink, type ProtectionInput } from "../../sandbox/protected-paths.ts";
import type { SandboxSupport } from "../../sandbox/sandbox-command.ts";
import { writablePaths } from "../../sandbox/writable-paths.ts";
import type { AppContext } from "../app-context.ts";

export type SandboxedTurn = Pick<TurnInput, "root" | "directory" | "project" | "policy" | "nesting">;

/** Policy `full` with the sandbox switched off uses nothing that the machine supports. */
export function supportFor({ name, sandbox }: Policy, support: SandboxSupport): SandboxSupport {
  return name === "full" && sandbox === "off" ? { ...support, tier: "none", processes: "no" } : support;
}

/** Whether a turn with this policy runs in a sandbox. */
export function sandboxes({ tier }: SandboxSupport, policy: Policy): boolean {
  return policy.name !== "full" && tier !== "none";
}

export function canGuard({ name }: Policy, { tier }: SandboxSupport): boolean {
  return name === "workspace" && (tier === "namespaces" || tier === "seatbelt");
}

export function protectionOf(
  { paths: { home }, env }: AppContext,
  turn: Pick<SandboxedTurn, "project" | "directory" | "policy">,
): ProtectionInput {
  const { project, directory, policy } = turn;
  return { writable: writablePaths(policy, { project, directory, home, env }), allowed: policy.allowWrite, home, env };
}

export function refuseLinks(protection: ProtectionInput, configured?: NamedPaths): void {
  const link = findUnprotectableLink(protection, configured);
  if (link === null) return;
  throw new Fault("sandbox-unavailable", `${link} is a symbolic link, and the sandbox can't protect what a link leads to`, {
    hint: `replace it by a directory; or use --policy readonly; or let tools write it: --allow-write ${shellQuote(link)}`,
  });
}
