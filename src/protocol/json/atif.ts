// The Agent Trajectory Interchange Format (ATIF): one conversation as one JSON object, for evaluations and other programs.
// These types describe what skein writes. A file of another program is untrusted and has to be checked when it is read.

export const atifVersion = "ATIF-v1.7";

export type AtifTrajectory = {
  schema_version: typeof atifVersion;
  session_id: string;
  trajectory_id: string;
  agent: { name: string; version: string; model_name?: string };
  steps: AtifStep[];
  final_metrics: AtifFinalMetrics;
  subagent_trajectories?: AtifTrajectory[];
};

export type AtifStep = {
  /** Counts from 1. */
  step_id: number;
  /** ISO 8601 */
  timestamp: string;
  source: "system" | "user" | "agent";
  message: string | AtifPart[];
  /** The fields from here to `metrics` are only on steps of the agent. */
  model_name?: string;
  reasoning_content?: string;
  tool_calls?: { tool_call_id: string; function_name: string; arguments: Record<string, unknown> }[];
  observation?: { results: AtifResult[] };
  metrics?: AtifMetrics;
  /** The step was taken before the fork, by another session. Its metrics do not count. */
  is_copied_context?: true;
  extra?: AtifStepExtra;
};

export type AtifPart = { type: "text"; text: string } | { type: "image"; source: { media_type: string; path: string } };

export type AtifResult = {
  source_call_id?: string;
  content: string | AtifPart[];
  subagent_trajectory_ref?: { trajectory_id: string; session_id: string }[];
};

/** `prompt_tokens` includes the cached ones. */
export type AtifMetrics = {
  prompt_tokens: number;
  completion_tokens: number;
  cached_tokens: number;
  cost_usd?: number;
  extra?: { cache_write_tokens: number };
};

export type AtifFinalMetrics = {
  total_prompt_tokens: number;
  total_completion_tokens: number;
  total_cached_tokens: number;
  total_cost_usd?: number;
  total_steps: number;
};

/** Facts that the format has no field for. */
export type AtifStepExtra = {
  /** The agent that took the step, unless it is skein's own. */
  agent?: string;
  /** The topic of a note. */
  note?: string;
  /** The first step that a compaction did not replace. */
  kept_from_step?: number;
  /** Ids of calls that failed. */
  failed_calls?: string[];
  /** The model's text of arguments that are no JSON object, by the id of the call. */
  malformed_arguments?: Record<string, string>;
};
