// What a turn may read, write, run and reach: what was asked, and what was really enforced.

export const policyNames = ["workspace", "readonly", "plan", "full"] as const;
export type PolicyName = (typeof policyNames)[number];

export const sandboxModes = ["required", "auto", "off"] as const;
export type SandboxMode = (typeof sandboxModes)[number];

export type Policy = {
  name: PolicyName;
  sandbox: SandboxMode;
  net: "on" | "off";
  /** Paths besides the project that tools may write. */
  allowWrite: string[];
  /** Directories besides the project that belong to the work. */
  addDirs: string[];
};

export type Enforced = {
  policy: PolicyName;
  tier: "namespaces" | "landlock" | "seatbelt" | "none";
  fs: boolean;
  net: "off" | "gateway" | "vendor" | "on";
  secrets: boolean;
  processes: boolean;
  /** What was asked for and is not held by the kernel here. */
  missing: string[];
};

export const toolLevels = ["none", "minimal", "orchestrator", "readonly"] as const;
export type ToolLevel = (typeof toolLevels)[number];

export const levelTools: Record<ToolLevel, readonly string[]> = {
  none: [],
  readonly: ["read", "bash"],
  minimal: ["read", "write", "edit", "bash"],
  orchestrator: ["read", "write", "edit", "bash", "spawn_session"],
};
