// What a sub-session may do: its parent's policy, or less. Paths are judged by their names alone: nothing that a model
// names is touched here, and nothing is opened that the parent could not write.
import { isAbsolute, join, normalize, sep } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import type { Policy, ToolLevel } from "../../protocol/api/policy.ts";
import type { DelegateRequest } from "../../protocol/api/ports.ts";
import type { Session } from "../../protocol/tree/turn.ts";

/** Only the planning turn itself writes the plan: what it delegates is to look. */
export function narrowPolicy(policy: Policy, wish: DelegateRequest["sandbox"], at: Pick<Session, "directory" | "project">): Policy {
  if (wish.network === true && policy.net === "off")
    throw new Fault("usage", "sandbox.network can't be true: the network is off for this session");
  const own = wish.readonly === true ? lookingOnly(policy) : policy.name === "plan" ? { ...policy, name: "readonly" as const } : policy;
  for (const path of wish.extraWritePaths ?? []) {
    if (mayWrite(own, isAbsolute(path) ? normalize(path) : join(at.directory, path), at)) continue;
    throw new Fault("usage", `sandbox.extra_write_paths: ${path} can't be written under policy ${policy.name}`, {
      hint: "a sub-session may write only what its parent may",
    });
  }
  return wish.network === false ? withoutNetwork(own) : own;
}

export function narrowToolLevel(level: ToolLevel, policy: Policy): ToolLevel {
  if (level === "none") return "none";
  return policy.name === "readonly" ? "readonly" : level === "orchestrator" ? "minimal" : level;
}

function mayWrite(policy: Policy, path: string, { directory, project }: Pick<Session, "directory" | "project">): boolean {
  if (policy.name === "full") return true;
  if (policy.name !== "workspace") return false;
  return [project, directory, ...policy.allowWrite, ...policy.addDirs].some((place) => path === place || path.startsWith(place + sep));
}

/** Nothing but walls keeps another agent's command line from writing. */
function lookingOnly(policy: Policy): Policy {
  return { ...policy, name: "readonly", sandbox: "required", allowWrite: [] };
}

/** Without walls there is nothing that could keep it off. */
function withoutNetwork(policy: Policy): Policy {
  if (policy.name !== "full") return { ...policy, net: "off" };
  throw new Fault("usage", "sandbox.network can't be false: policy full has no walls");
}
