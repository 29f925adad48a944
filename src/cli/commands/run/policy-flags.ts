// The policy flags of every command that starts a turn, and the policy that follows from flags and settings.
import type { Settings } from "../../../protocol/api/api.ts";
import { parseHostPattern } from "../../../kit/flow/host-pattern.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { policyNames, sandboxModes, type Policy, type PolicyName, type SandboxMode, type ToolLevel } from "../../../protocol/api/policy.ts";
import { configuredPolicy } from "../../../protocol/api/turn-options.ts";
import type { Args, Flag } from "../../parse/command.ts";
import { flagReader, type FlagDirectories } from "./flag-value.ts";

/** The sandbox modes of Codex. */
export const codexModes: Readonly<Record<string, string>> = {
  "read-only": "the same is: --policy readonly",
  "workspace-write": "the same is the default: --policy workspace",
  "danger-full-access": "the same is: --policy full --sandbox off",
};

export const policyFlags: readonly Flag[] = [
  { name: "policy", value: "name", choices: policyNames, summary: "what tools may do (default workspace)" },
  {
    name: "sandbox",
    value: "mode",
    choices: sandboxModes,
    hints: {
      "": "the sandbox is always on; --sandbox required refuses to run without one",
      on: "the sandbox is always on; --sandbox required refuses to run without one",
      ...codexModes,
    },
    summary: "whether the policy must be enforced; off only with --policy full",
  },
  {
    name: "net",
    value: "on|off|host,...",
    choices: ["on", "off"],
    takesOthers: true,
    summary: "whether tools may reach the network, or only the named hosts (default off)",
  },
  { name: "allow-write", value: "path", repeat: true, summary: "a path outside the project that tools may write" },
  { name: "add-dir", value: "directory", repeat: true, summary: "a directory besides the project that belongs to the work" },
];

/** Values of the flags; null if the settings decide. */
export type PolicyFlagValues = {
  name: PolicyName | null;
  sandbox: SandboxMode | null;
  net: NetChoice | null;
  allowWrite: string[];
  addDirs: string[];
};

/** Checks every value. Paths are absolute and exist. */
export function readPolicyFlags(args: Args, directories: FlagDirectories): PolicyFlagValues {
  const { text, read } = flagReader(args, directories);
  return {
    name: text("policy") as PolicyName | null,
    sandbox: text("sandbox") as SandboxMode | null,
    net: read("net", (flag) => netChoice(flag.text)),
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
  if (flags.net?.net === "off" && name === "full")
    throw new Fault("usage", `--net ${flags.net.netHosts?.join(",") ?? "off"} needs a sandbox, and --policy full has none`, {
      hint: "use --policy workspace",
    });
  return {
    name,
    sandbox,
    ...(flags.net ?? netOf(configured)),
    allowWrite: [...configured.allowWrite, ...flags.allowWrite],
    addDirs: flags.addDirs,
  };
}

/** Both fields, so that a flag also replaces the hosts of the configuration. */
type NetChoice = Pick<Policy, "net" | "netHosts">;

function netChoice(text: string): NetChoice {
  if (text === "on" || text === "off") return { net: text };
  const hosts = text.split(",").flatMap((host) => host.trim() || []);
  const wrong = hosts.find((host) => parseHostPattern(host) === null);
  if (hosts.length > 0 && wrong === undefined) return { net: "off", netHosts: hosts };
  throw new Fault("usage", `--net takes on, off or hosts, not "${wrong ?? text}"`, {
    hint: "name hosts with commas between them: --net registry.npmjs.org,*.example.com,localhost:8080",
  });
}

function netOf({ net, netHosts }: Policy): NetChoice {
  return netHosts === undefined ? { net } : { net, netHosts };
}
