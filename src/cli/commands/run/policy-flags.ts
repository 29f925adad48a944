// The flags that say what a turn may do, for every command that starts one, and the policy they make of the settings.
import { realpathSync, statSync } from "node:fs";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import type { Settings } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { policyNames, sandboxModes, type Policy, type PolicyName, type SandboxMode, type ToolLevel } from "../../../protocol/api/policy.ts";
import { configuredPolicy } from "../../../protocol/api/turn-options.ts";
import type { Args, CommandContext, Flag } from "../../parse/command.ts";

export const policyFlags: readonly Flag[] = [
  { name: "policy", value: "name", choices: policyNames, summary: "what tools may do (default workspace)" },
  { name: "sandbox", value: "mode", choices: sandboxModes, summary: "whether the policy must be enforced; off only with --policy full" },
  { name: "net", value: "mode", choices: ["on", "off"], summary: "whether tools may reach the network (default off)" },
  { name: "allow-write", value: "path", repeat: true, summary: "a path outside the project that tools may write" },
  { name: "add-dir", value: "directory", repeat: true, summary: "a directory besides the project that belongs to the work" },
];

/** What the flags ask for; null where the settings decide. */
export type PolicyFlagValues = {
  name: PolicyName | null;
  sandbox: SandboxMode | null;
  net: Policy["net"] | null;
  allowWrite: string[];
  addDirs: string[];
};

/** Every value checked; paths are absolute and exist. */
export function readPolicyFlags(args: Args, ctx: Pick<CommandContext, "cwd" | "home">): PolicyFlagValues {
  const text = (name: string) => (typeof args.flags[name] === "string" ? args.flags[name] : null);
  const list = (name: string) => (Array.isArray(args.flags[name]) ? args.flags[name] : []);
  return {
    name: text("policy") as PolicyName | null,
    sandbox: text("sandbox") as SandboxMode | null,
    net: text("net") as Policy["net"] | null,
    allowWrite: list("allow-write").map((path) => existing("allow-write", path, ctx)),
    addDirs: list("add-dir").map((path) => directory("add-dir", path, ctx)),
  };
}

/** Flags over settings. What goes against itself is wrong use, not a silent choice. */
export function resolvePolicy(wish: PolicyFlagValues, settings: Settings, toolLevel: ToolLevel): Policy {
  const usual = configuredPolicy({ ...settings, toolLevel }, wish.name);
  const { name } = usual;
  const writes = name === "workspace" || name === "full";
  if (toolLevel === "readonly" && writes) {
    throw new Fault("usage", `--tool-level readonly can't go with --policy ${name}: its bash could write`, {
      hint: "leave --policy out, or use --tool-level minimal",
    });
  }
  const sandbox = wish.sandbox ?? usual.sandbox;
  if (sandbox === "off" && name !== "full") throw new Fault("usage", "--sandbox off goes only with --policy full");
  if (wish.allowWrite.length > 0 && !writes) throw new Fault("usage", `--allow-write goes against --policy ${name}`);
  if (wish.net === "off" && name === "full")
    throw new Fault("usage", "--net off needs walls, and --policy full has none", { hint: "use --policy workspace" });
  return {
    name,
    sandbox,
    net: wish.net ?? usual.net,
    allowWrite: [...usual.allowWrite, ...wish.allowWrite],
    addDirs: wish.addDirs,
  };
}

function existing(flag: string, path: string, { cwd, home }: Pick<CommandContext, "cwd" | "home">): string {
  const wanted = absolutePath(path, { cwd, home });
  try {
    return realpathSync(wanted);
  } catch (error) {
    throw new Fault("usage", `--${flag}: nothing is at ${wanted}`, { hint: "it must exist before the run", cause: error });
  }
}

function directory(flag: string, path: string, ctx: Pick<CommandContext, "cwd" | "home">): string {
  const found = existing(flag, path, ctx);
  if (!statSync(found).isDirectory()) throw new Fault("usage", `--${flag}: ${found} is no directory`);
  return found;
}
