// Narrows the parent's policy for a sub-session: it may not write anything that its parent may not.
// A path from a model is compared by name only and never accessed.
import { isAbsolute, join, normalize, sep } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import type { Policy, ToolLevel } from "../../protocol/api/policy.ts";
import type { DelegateRequest } from "../../protocol/api/ports.ts";
import type { Session } from "../../protocol/tree/turn.ts";

/** Only the planning turn itself writes the plan, so a sub-session of it is read-only. */
export function narrowPolicy(policy: Policy, request: DelegateRequest["sandbox"], session: Pick<Session, "directory" | "project">): Policy {
  if (request.network === true && policy.net === "off")
    throw new Fault("usage", "sandbox.network can't be true: the network is off for this session");
  const narrowed =
    request.readonly === true ? readOnly(policy) : policy.name === "plan" ? { ...policy, name: "readonly" as const } : policy;
  for (const path of request.extraWritePaths ?? []) {
    if (mayWrite(narrowed, isAbsolute(path) ? normalize(path) : join(session.directory, path), session)) continue;
    throw new Fault("usage", `sandbox.extra_write_paths: ${path} can't be written under policy ${policy.name}`, {
      hint: "a sub-session may write only what its parent may",
    });
  }
  return request.network === false ? withoutNetwork(narrowed) : narrowed;
}

export function narrowToolLevel(level: ToolLevel, policy: Policy): ToolLevel {
  if (level === "none") return "none";
  return policy.name === "readonly" ? "readonly" : level === "orchestrator" ? "minimal" : level;
}

function mayWrite(policy: Policy, path: string, { directory, project }: Pick<Session, "directory" | "project">): boolean {
  if (policy.name === "full") return true;
  if (policy.name !== "workspace") return false;
  return [project, directory, ...policy.allowWrite, ...policy.addDirs].some((root) => path === root || path.startsWith(root + sep));
}

/** Requires a sandbox: nothing else keeps an external CLI from writing. */
function readOnly(policy: Policy): Policy {
  return { ...policy, name: "readonly", sandbox: "required", allowWrite: [] };
}

/** Policy `full` has no sandbox, so its network can't be turned off. */
function withoutNetwork(policy: Policy): Policy {
  const { netHosts: _hosts, ...others } = policy;
  if (policy.name !== "full") return { ...others, net: "off" };
  throw new Fault("usage", "sandbox.network can't be false: policy full has no sandbox");
}
