// The policy flags of every command that starts a turn, and the policy that follows from flags and settings.
import type { Settings } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { policyNames, sandboxModes, type Policy, type PolicyName, type SandboxMode, type ToolLevel } from "../../../protocol/api/policy.ts";
import { configuredPolicy } from "../../../protocol/api/turn-options.ts";
import type { Args, Flag } from "../../parse/command.ts";
import { flagReader, type FlagDirectories } from "./flag-value.ts";

export const policyFlags: readonly Flag[] = [
  { name: "policy", value: "name", choices: policyNames, summary: "what tools may do (default workspace)" },
  { name: "sandbox", value: "mode", choices: sandboxModes, summary: "whether the policy must be enforced; off only with --policy full" },
  { name: "net", value: "mode", choices: ["on", "off"], summary: "whether tools may reach the network (default off)" },
  { name: "allow-write", value: "path", repeat: true, summary: "a path outside the project that tools may write" },
  { name: "add-dir", value: "directory", repeat: true, summary: "a directory besides the project that belongs to the work" },
];

/** Values of the flags; null if the settings decide. */
export type PolicyFlagValues = {
  name: PolicyName | null;
  sandbox: SandboxMode | null;
  net: Policy["net"] | null;
  allowWrite: string[];
  addDirs: string[];
};

/** Checks every value. Paths are absolute and exist. */
export function readPolicyFlags(args: Args, directories: FlagDirectories): PolicyFlagValues {
  const { text, read } = flagReader(args, directories);
  return {
    name: text("policy") as PolicyName | null,
    sandbox: text("sandbox") as SandboxMode | null,
    net: text("net") as Policy["net"] | null,
    allowWrite: read("allow-write", (flag) => flag.existingPaths()) ?? [],
    addDirs: read("add-dir", (flag) => flag.existingDirectories()) ?? [],
  };
}

/** Flags take precedence over settings. Throws a usage fault for a contradiction. */
export function resolvePolicy(flags: PolicyFlagValues, settings: Settings, toolLevel: ToolLevel): Policy {
  const configured = configuredPolicy({ ...settings, toolLevel }, flags.name);
  const { name } = configured;
  const canWrite = name === "workspace" || name === "full";
  if (toolLevel === "readonly" && canWrite) {
    throw new Fault("usage", `--tool-level readonly excludes --policy ${name}: its bash could write`, {
      hint: "leave --policy out, or use --tool-level minimal",
    });
  }
  const sandbox = flags.sandbox ?? configured.sandbox;
  if (sandbox === "off" && name !== "full") throw new Fault("usage", "--sandbox off needs --policy full");
  if (flags.allowWrite.length > 0 && !canWrite) throw new Fault("usage", `--allow-write excludes --policy ${name}`);
  if (flags.net === "off" && name === "full")
    throw new Fault("usage", "--net off needs a sandbox, and --policy full has none", { hint: "use --policy workspace" });
  return {
    name,
    sandbox,
    net: flags.net ?? configured.net,
    allowWrite: [...configured.allowWrite, ...flags.allowWrite],
    addDirs: flags.addDirs,
  };
}
