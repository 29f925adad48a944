// Who can take a turn here, and what was found out about it by trying. Data only.

export type AgentInfo = {
  name: string;
  /** `configured` is one that the configuration adds. */
  kind: "native" | "cli" | "configured";
  installed: boolean;
  /** Null for the native agent and for one that is not installed. */
  path: string | null;
  version: string | null;
  /** Whose models it asks. */
  vendors: string[];
  /** Which credential a turn would use, by name; one of them is enough. */
  credentials: AgentCredential[];
  can: AgentCapabilities;
  /** What `doctor --agents` found out about this very program; null when it was not tried. */
  tried: TrialSummary | null;
  /** What stands in the way of a turn, in one line, and what to do about it. */
  missing: string | null;
  hint: string | null;
};

/** An agent of the configuration: `agents.<name>.*` in docs/CONFIG.md. */
export type AgentConfig = Readonly<{
  command: string | null;
  args: readonly string[];
  resumeArgs: readonly string[] | null;
  output: "text" | "json" | "stream-json" | "acp";
  env: Readonly<Record<string, string>>;
  hint: string | null;
}>;

export type AgentCredential = {
  vendor: string;
  kind: "key" | "sign-in" | "none";
  /** A variable, a key of the configuration or a file; null when none is needed or there is none. */
  source: string | null;
  /** What is to be known of it, such as how long it lasts. */
  note: string | null;
};

export type AgentCapabilities = {
  /** Goes on in a session of its own; without it, it is told the earlier conversation anew. */
  resume: boolean;
  fork: boolean;
  /** The efforts it can be told; empty when it can't. */
  efforts: string[];
  /** How a role reaches it. */
  role: "own" | "prompt";
};

export type TrialSummary = { at: number; works: boolean; reason: string | null };

/** In the order in which they are shown. */
export const trialCheckNames = ["tools", "model", "resume", "fork", "bad-key", "rate-limit", "kill"] as const;
export type TrialCheckName = (typeof trialCheckNames)[number];

export type TrialCheck = {
  name: TrialCheckName;
  /** `none` is what the agent does not claim; `untried` is what could not be tried after an earlier failure. */
  outcome: "ok" | "failed" | "none" | "untried";
  /** What was seen, for one that failed. */
  detail: string | null;
  durationMs: number;
};

export type AgentTrial = {
  agent: string;
  path: string;
  version: string | null;
  /** Without `resume` and `fork` it still works: it is told the earlier conversation instead. */
  works: boolean;
  reason: string | null;
  checks: TrialCheck[];
  durationMs: number;
};

export type AgentsReport = {
  /** False when one that is installed is broken. */
  ok: boolean;
  agents: AgentTrial[];
  notInstalled: { agent: string; hint: string }[];
};

export type TrialProgress = { agent: string; check: TrialCheckName | null; done: number; of: number };
