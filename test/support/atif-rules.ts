// The rules of ATIF 1.7 that one trajectory must keep. `brokenRules` returns the names of those that it breaks.
import type { AtifStep, AtifTrajectory } from "../../src/protocol/json/atif.ts";

type Rule = (trajectory: AtifTrajectory) => boolean;

const stepFields = [
  "step_id",
  "timestamp",
  "source",
  "model_name",
  "reasoning_effort",
  "message",
  "reasoning_content",
  "tool_calls",
  "observation",
  "metrics",
  "llm_call_count",
  "is_copied_context",
  "extra",
];
const rootFields = [
  "schema_version",
  "session_id",
  "trajectory_id",
  "agent",
  "steps",
  "notes",
  "final_metrics",
  "continued_trajectory_ref",
  "subagent_trajectories",
  "extra",
];
const agentFields = ["model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics", "llm_call_count"];

const every =
  (check: (step: AtifStep, index: number) => boolean): Rule =>
  ({ steps }) =>
    steps.every(check);
const sum = (trajectory: AtifTrajectory, field: "prompt_tokens" | "completion_tokens" | "cached_tokens") =>
  trajectory.steps.reduce((total, step) => total + (step.is_copied_context === true ? 0 : (step.metrics?.[field] ?? 0)), 0);

export const atifRules: Record<string, Rule> = {
  "the version is ATIF-v1.7": ({ schema_version }) => schema_version === "ATIF-v1.7",
  "the root has only known fields": (trajectory) => Object.keys(trajectory).every((name) => rootFields.includes(name)),
  "the agent has a name and a version": ({ agent }) => agent.name !== "" && agent.version !== "",
  "there is at least one step": ({ steps }) => steps.length > 0,
  "steps have only known fields": every((step) => Object.keys(step).every((name) => stepFields.includes(name))),
  "step ids count from 1": every(({ step_id }, index) => step_id === index + 1),
  "a timestamp is in ISO 8601": every(({ timestamp }) => !Number.isNaN(Date.parse(timestamp)) && timestamp.endsWith("Z")),
  "a source is system, user or agent": every(({ source }) => ["system", "user", "agent"].includes(source)),
  "a message is a text or a list of parts": every(({ message }) => typeof message === "string" || Array.isArray(message)),
  "only steps of the agent have its fields": every(
    (step) => step.source === "agent" || agentFields.every((name) => !Object.keys(step).includes(name)),
  ),
  "calls have an id, a name and an object of arguments": every(({ tool_calls = [] }) =>
    tool_calls.every((call) => call.tool_call_id !== "" && call.function_name !== "" && typeof call.arguments === "object"),
  ),
  "a result names a call of its step": every(({ tool_calls = [], observation }) =>
    (observation?.results ?? []).every(
      ({ source_call_id }) => source_call_id === undefined || tool_calls.some(({ tool_call_id }) => tool_call_id === source_call_id),
    ),
  ),
  "cached tokens are part of the prompt": every(({ metrics }) => metrics === undefined || metrics.cached_tokens <= metrics.prompt_tokens),
  "final metrics are the sums of steps that are not copied": (trajectory) =>
    trajectory.final_metrics.total_steps === trajectory.steps.length &&
    trajectory.final_metrics.total_prompt_tokens === sum(trajectory, "prompt_tokens") &&
    trajectory.final_metrics.total_completion_tokens === sum(trajectory, "completion_tokens") &&
    trajectory.final_metrics.total_cached_tokens === sum(trajectory, "cached_tokens"),
  "copied steps come first": ({ steps }) => steps.findLastIndex((step) => step.is_copied_context === true) < firstOwn(steps),
  "a reference names an embedded trajectory": ({ steps, subagent_trajectories = [] }) =>
    steps
      .flatMap(({ observation }) => observation?.results ?? [])
      .flatMap(({ subagent_trajectory_ref = [] }) => subagent_trajectory_ref)
      .every(({ trajectory_id }) => subagent_trajectories.some((child) => child.trajectory_id === trajectory_id)),
  "embedded trajectories keep the rules too": ({ subagent_trajectories = [] }) =>
    subagent_trajectories.every((child) => brokenRules(child).length === 0),
};

function firstOwn(steps: readonly AtifStep[]): number {
  const index = steps.findIndex((step) => step.is_copied_context !== true);
  return index === -1 ? steps.length : index;
}

export function brokenRules(trajectory: AtifTrajectory): string[] {
  return Object.entries(atifRules).flatMap(([name, rule]) => (rule(trajectory) ? [] : [name]));
}
