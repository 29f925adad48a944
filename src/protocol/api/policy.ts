// Policies: the rules of a turn for reading, writing, running and network access, and the rules that are enforced.
import { executorToolNames, mcpToolName, readonlyToolNames } from "./tool-table.ts";

export type { EnforcedPolicy } from "../schema/tree.ts";

export const policyNames = ["workspace", "readonly", "plan", "full"] as const;
export type PolicyName = (typeof policyNames)[number];

export const sandboxModes = ["required", "auto", "off"] as const;
export type SandboxMode = (typeof sandboxModes)[number];

export type Policy = {
  name: PolicyName;
  sandbox: SandboxMode;
  net: "on" | "off";
  /** Hosts that tools may reach while the network is off, see `host-pattern.ts`. Missing: none. */
  netHosts?: string[];
  /** Paths besides the project that tools may write. */
  allowWrite: string[];
  /** Directories besides the project that belong to the work. */
  addDirs: string[];
};

export const defaultPolicy: Policy = { name: "workspace", sandbox: "auto", net: "off", allowWrite: [], addDirs: [] };

/** Whether tools and CLIs may connect to nothing. Policy `full` restricts nothing. */
export function isOffline({ name, net }: Policy): boolean {
  return net === "off" && name !== "full";
}

/** The hosts that tools may reach besides those of the agent's vendor; empty if the network is on, and if it is off for all. */
export function namedHosts(policy: Policy): readonly string[] {
  return isOffline(policy) ? (policy.netHosts ?? []) : [];
}

/** Marks the processes of a session: the topmost session of the run, and whether it may start skein again. */
export type SessionTag = { session: string; nesting: boolean };

/** The session that this process was started in; the id is null if it is unknown. */
export type EnclosingSession = { session: string | null; nesting: boolean };

/** The sandbox as the executor sees it, to explain denials. The executor itself enforces only `maxProcesses` and `maxMemoryBytes`. */
export type SandboxInfo = {
  policy: PolicyName;
  net: "on" | "off";
  /** Hosts that can be reached while the network is off, through a proxy at this port of 127.0.0.1. Missing: none. */
  named?: { hosts: readonly string[]; port: number };
  unixSockets: boolean;
  /** Real paths of directories and files that may be written, including `temp`. */
  writable: string[];
  /** Real paths with secrets, which can't be read. */
  hidden: string[];
  temp: string;
  maxProcesses: number;
  maxMemoryBytes: number | null;
  /** False if the kernel enforces none of these rules. Failures are then not explained by them. */
  isEnforced: boolean;
  sessionTag?: SessionTag;
};

export const denialKinds = ["net", "write", "secret", "socket", "process", "command"] as const;

/** An action that the policy, a limit or the guard refused. The text is for the model and the user. */
export type Denial = { what: (typeof denialKinds)[number]; text: string };

export const toolLevels = ["none", "minimal", "orchestrator", "readonly"] as const;
export type ToolLevel = (typeof toolLevels)[number];

export const toolsByLevel: Record<ToolLevel, readonly string[]> = {
  none: [],
  readonly: readonlyToolNames,
  minimal: executorToolNames,
  orchestrator: [...executorToolNames, "spawn_session"],
};

export type ToolSelection = { toolLevel: ToolLevel; tools: readonly string[] | null; spawn: boolean; canAsk: boolean };

/**
 * The tools of a turn, by level or by name. With any tools it can also ask, if questions are possible, and use its MCP servers,
 * if it has some.
 */
export function toolNames({ toolLevel, tools, spawn, canAsk }: ToolSelection): string[] {
  const selected = tools ?? (toolLevel === "none" ? [] : [...toolsByLevel[toolLevel], mcpToolName, "ask_user"]);
  return selected.filter((name) => (spawn || name !== "spawn_session") && (canAsk || name !== "ask_user"));
}

/** In the state directory: a list of the directories that tools of any run could write. */
export const toolPlacesFile = "tool-places";
