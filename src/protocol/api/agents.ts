// Types of agents and of their trials.
export type { AgentCredential, AgentInfo, AgentsReport, AgentTrial, TrialCheck, TrialSummary } from "../schema/setup.ts";

/** An agent of the configuration: `agents.<name>.*` in docs/CONFIG.md. */
export type AgentConfig = Readonly<{
  command: string | null;
  args: readonly string[];
  resumeArgs: readonly string[] | null;
  output: "text" | "json" | "stream-json" | "acp";
  env: Readonly<Record<string, string>>;
  hint: string | null;
}>;

/** The order is that of the output. */
export const trialCheckNames = ["tools", "model", "resume", "fork", "bad-key", "rate-limit", "kill"] as const;
export type TrialCheckName = (typeof trialCheckNames)[number];

export type TrialProgress = { agent: string; check: TrialCheckName | null; done: number; of: number };
