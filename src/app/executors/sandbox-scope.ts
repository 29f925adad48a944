// Decides whether a turn is sandboxed on this machine. Refuses turns that no sandbox could protect: with links in the project,
// or with skein's own directories in it. Runs before the first request, so it must stay fast and builds no rules.
import { sep } from "node:path";
import { followLinks } from "../../kit/files/follow-links.ts";
import { resolveLinks } from "../../kit/files/path-status.ts";
import { makeDirectorySafely } from "../../kit/files/safe-file.ts";
import { shellQuote } from "../../kit/text/shell-quote.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Policy } from "../../protocol/api/policy.ts";
import type { TurnInput } from "../../protocol/api/ports.ts";
import type { NamedPaths } from "../../sandbox/git-config.ts";
import { findUnprotectableLink, type ProtectionInput } from "../../sandbox/protected-paths.ts";
import type { SandboxSupport } from "../../sandbox/sandbox-command.ts";
import { writablePaths } from "../../sandbox/writable-paths.ts";
import type { AppContext } from "../app-context.ts";

export type SandboxedTurn = Pick<TurnInput, "root" | "directory" | "project" | "policy" | "nesting" | "env">;

/** Policy `full` with the sandbox switched off uses nothing that the machine supports. */
export function supportFor({ name, sandbox }: Policy, support: SandboxSupport): SandboxSupport {
  return name === "full" && sandbox === "off" ? { ...support, tier: "none", processes: "no" } : support;
}

/** Whether a turn with this policy runs in a sandbox. */
export function sandboxes({ tier }: SandboxSupport, policy: Policy): boolean {
  return policy.name !== "full" && tier !== "none";
}

/** Whether the sandbox can keep single paths read-only inside a writable directory. */
export function canProtectPaths({ name }: Policy, { tier }: SandboxSupport): boolean {
  return name === "workspace" && (tier === "namespaces" || tier === "seatbelt");
}

export function protectionOf(
  { paths: { home }, env }: AppContext,
  turn: Pick<SandboxedTurn, "project" | "directory" | "policy">,
): ProtectionInput {
  const { project, directory, policy } = turn;
  return { writable: writablePaths(policy, { project, directory, home }), allowed: policy.allowWrite, home, env };
}

export function refuseLinks(protection: ProtectionInput, configured?: NamedPaths): void {
  const link = findUnprotectableLink(protection, configured);
  if (link === null) return;
  throw new Fault("sandbox-unavailable", `${link} is a symbolic link, and the sandbox can't protect what a link leads to`, {
    hint: `replace it by a directory; or use --policy readonly; or let tools write it: --allow-write ${shellQuote(link)}`,
  });
}

/**
 * Tools must not change skein's own settings: they could allow themselves everything in the next run. In a project such as
 * ~/.config the sandbox hides skein's directories. It can't hide a missing directory, so this creates it.
 */
export function protectOwnDirectories(
  { paths: { config, data, state, home } }: AppContext,
  { project, directory, policy }: Pick<SandboxedTurn, "project" | "directory" | "policy">,
  { tier }: SandboxSupport,
): void {
  const writable = writablePaths(policy, { project, directory, home });
  if (writable.length === 0) return;
  const isInside = (path: string) => writable.some((parent) => path.startsWith(parent + sep));
  for (const own of [config, data, state].filter((path) => !policy.allowWrite.includes(path))) {
    const followed = followLinks(own);
    const link = followed?.links.find(isInside);
    const real = followed?.path ?? resolveLinks(own);
    const isProject = writable.some((path) => !policy.allowWrite.includes(path) && `${path}${sep}`.startsWith(real + sep));
    if (!isInside(real) && !isProject && link === undefined) continue;
    if (link !== undefined || isProject || tier === "landlock")
      throw new Fault("sandbox-unavailable", `tools could change ${link ?? own}, a directory of skein itself`, {
        hint: "change to another directory, or use --policy readonly",
      });
    makeDirectorySafely(resolveLinks(own));
  }
}

/**
 * The variable that names the member of a team. The executor has it too: memory of its descendants counts for the member, also if
 * a command removes the variable from its environment.
 */
export function memberTag({ env }: Pick<SandboxedTurn, "env">): Record<string, string> {
  const id = env?.[memberVariable];
  return id === undefined ? {} : { [memberVariable]: id };
}

const memberVariable = "SKEIN_AGENT_ID";
