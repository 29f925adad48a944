// Builds the command line that starts a process under a policy. The launcher and standard Linux programs enforce it;
// this file enforces nothing.
import type { EnforcedPolicy } from "../protocol/api/policy.ts";
import { encodeText } from "./launch/call-list.ts";
import { createSandboxCalls } from "./launch/sandbox-calls.ts";
import { type LaunchRequest, launchVariable } from "./launch-request.ts";
import { seatbeltProfile } from "./seatbelt.ts";
import type { SandboxRules } from "./rules.ts";

export type Tier = EnforcedPolicy["tier"];

export type SandboxCommandOptions = {
  command: string[];
  cwd: string;
  /** Null for policy `full`: only its processes are contained. */
  rules: SandboxRules | null;
  support: SandboxSupport;
  /** The command that starts skein itself. */
  selfCommand: string[];
};

/** The sandbox features of this machine, found by `probe.ts`. */
export type SandboxSupport = {
  tier: Tier;
  /** Whether a pid namespace is possible, alone or only with a user namespace. */
  processes: "plain" | "with-user" | "no";
  /** Absolute paths of programs of util-linux: one creates namespaces, one ends a child with its parent. */
  tools: { unshare: string; setpriv: string } | null;
  /** The native launcher. Null where it can't run: the launcher in JavaScript then does the same. */
  nativeLauncher: string | null;
  /** 0 if the kernel has no Landlock. */
  landlockVersion: number;
  /** In tier `namespaces`: the kernel has no Landlock, which some restrictions need. */
  lacksLandlock?: boolean;
  /** The reason why no more is enforced, and what would help. */
  why: string | null;
  hint: string | null;
};

/** `env` must be added to the environment of the started process. */
export type SandboxCommand = { command: string[]; env: Record<string, string> };

/** Without rules the command starts without a sandbox. Its processes are still contained, if the machine supports that. */
export function sandboxCommand({ rules, support, selfCommand, command, cwd }: SandboxCommandOptions): SandboxCommand {
  const { tier, tools } = support;
  if (tier === "seatbelt")
    return { command: rules === null ? command : ["/usr/bin/sandbox-exec", "-p", seatbeltProfile(rules), ...command], env: {} };
  const namespaceArgs = unshareArgs(support, []);
  if (rules === null || tier === "none")
    return { command: [...parentDeathArgs(tools, namespaceArgs.length > 0), ...namespaceArgs, ...command], env: {} };
  const { landlockVersion, nativeLauncher } = support;
  const request: LaunchRequest = { rules, tier, cwd, hasUserNamespace: support.processes === "with-user", landlockVersion, command };
  const variables = nativeLauncher === null ? null : callListVariables(request);
  if (nativeLauncher !== null && variables !== null) return { command: [nativeLauncher, ...command], env: variables };
  const env = { [launchVariable]: JSON.stringify(request) };
  const launcher = [...selfCommand, "__launch"];
  if (tier === "landlock") return { command: [...parentDeathArgs(tools, false), ...launcher], env };
  const extraArgs = ["--ipc", ...(rules.net === "off" ? ["--net"] : []), ...(support.processes === "with-user" ? ["--keep-caps"] : [])];
  return { command: [...parentDeathArgs(tools, true), ...unshareArgs(support, extraArgs), ...launcher], env };
}

/** The kernel allows 128 KB for a variable, and about 2 MB for all of them and the arguments. */
const maxVariableLength = 100_000;
const maxVariables = 12;

/** The list of system calls as variables. Null if it is too long. */
function callListVariables(request: LaunchRequest): Record<string, string> | null {
  const bytes = createSandboxCalls(request, { createsNamespaces: true }).encode();
  const text = bytes === null ? "" : encodeText(bytes);
  const count = Math.ceil(text.length / maxVariableLength);
  if (count === 0 || count > maxVariables) return null;
  const parts = Array.from({ length: count }, (_, index) => text.slice(index * maxVariableLength, (index + 1) * maxVariableLength));
  // The launcher joins them in the order of the environment.
  return Object.fromEntries(parts.map((part, index) => [`${launchVariable}${index === 0 ? "" : `_${index}`}`, part]));
}

/**
 * Takes variables of the dynamic loader out of `env`. With `args` before the command they are set again inside of the sandbox.
 * They name directories with code, maybe in the project. `unshare`, `setpriv` and the launcher would load that code outside.
 */
export function moveLoaderVariables<Value extends string | undefined>(env: Readonly<Record<string, Value>>): MovedVariables<Value> {
  const moved = Object.entries(env).flatMap(([name, value]) => (isLoaderVariable(name) && value ? [`${name}=${value}`] : []));
  const others = Object.entries(env).filter(([name]) => !isLoaderVariable(name));
  return { args: moved.length === 0 ? [] : ["/usr/bin/env", ...moved], env: Object.fromEntries(others) };
}

type MovedVariables<Value> = { args: string[]; env: Record<string, Value> };

function isLoaderVariable(name: string): boolean {
  return /^(LD|DYLD)_/.test(name);
}

/** The end of a pid namespace ends all its processes. Without one, the executor gets SIGTERM, to end its processes itself. */
function parentDeathArgs(tools: SandboxSupport["tools"], hasPidNamespace: boolean): string[] {
  return tools === null ? [] : [tools.setpriv, "--pdeathsig", hasPidNamespace ? "KILL" : "TERM"];
}

function unshareArgs({ tools, processes }: SandboxSupport, extraArgs: string[]): string[] {
  if (tools === null || processes === "no") return [];
  const user = processes === "with-user" ? ["--user", "--map-current-user"] : [];
  return [tools.unshare, ...user, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", ...extraArgs, "--"];
}
