// The rules of ATIF 1.7 that one trajectory must keep. `brokenRules` returns the names of those that it breaks.
import { isRecord } from "../../src/kit/text/json.ts";
import type { AtifMetrics, AtifPart, AtifResult, AtifStep, AtifTrajectory } from "../../src/protocol/json/atif.ts";

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
const metricFields = [
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "cost_usd",
  "prompt_token_ids",
  "completion_token_ids",
  "logprobs",
  "extra",
];
const finalFields = ["total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd", "total_steps", "extra"];
const pictureTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

const hasOnly = (value: object, names: readonly string[]) => Object.keys(value).every((name) => names.includes(name));
const resultsOf = (step: AtifStep): AtifResult[] => step.observation?.results ?? [];
const partsOf = (step: AtifStep): AtifPart[] =>
  [step.message, ...resultsOf(step).map(({ content }) => content)].flatMap((content) => (Array.isArray(content) ? content : []));
const tokensOf = ({ prompt_tokens, completion_tokens, cached_tokens }: AtifMetrics) => [prompt_tokens, completion_tokens, cached_tokens];

const every =
  (check: (step: AtifStep, index: number) => boolean): Rule =>
  ({ steps }) =>
    steps.every(check);
const sum = (trajectory: AtifTrajectory, field: "prompt_tokens" | "completion_tokens" | "cached_tokens") =>
  trajectory.steps.reduce((total, step) => total + (step.is_copied_context === true ? 0 : (step.metrics?.[field] ?? 0)), 0);

export const atifRules: Record<string, Rule> = {
  "the version is ATIF-v1.7": ({ schema_version }) => schema_version === "ATIF-v1.7",
  "the root has only known fields": (trajectory) => hasOnly(trajectory, rootFields),
  "the agent has a name and a version": ({ agent }) => agent.name !== "" && agent.version !== "",
  "the agent has only known fields": ({ agent }) => hasOnly(agent, ["name", "version", "model_name", "tool_definitions", "extra"]),
  "there is at least one step": ({ steps }) => steps.length > 0,
  "steps have only known fields": every((step) => hasOnly(step, stepFields)),
  "step ids count from 1": every(({ step_id }, index) => step_id === index + 1),
  "a timestamp is in ISO 8601": every(({ timestamp }) => !Number.isNaN(Date.parse(timestamp)) && timestamp.endsWith("Z")),
  "a source is system, user or agent": every(({ source }) => ["system", "user", "agent"].includes(source)),
  "a message is a text or a list of parts": every(({ message }) => typeof message === "string" || Array.isArray(message)),
  "a part is a text or a picture, and not both": every((step) =>
    partsOf(step).every((part) => (part.type === "text" ? hasOnly(part, ["type", "text"]) : hasOnly(part, ["type", "source"]))),
  ),
  "a picture has a path and a type that the format allows": every((step) =>
    partsOf(step).every(
      (part) =>
        part.type === "text" ||
        (hasOnly(part.source, ["media_type", "path"]) && part.source.path !== "" && pictureTypes.includes(part.source.media_type)),
    ),
  ),
  "only steps of the agent have its fields": every(
    (step) => step.source === "agent" || agentFields.every((name) => !Object.keys(step).includes(name)),
  ),
  "calls have an id, a name and an object of arguments": every(({ tool_calls = [] }) =>
    tool_calls.every((call) => call.tool_call_id !== "" && call.function_name !== "" && isRecord(call.arguments)),
  ),
  "calls, observations and results have only known fields": every((step) =>
    [
      ...(step.tool_calls ?? []).map((call) => hasOnly(call, ["tool_call_id", "function_name", "arguments", "extra"])),
      ...(step.observation === undefined ? [] : [hasOnly(step.observation, ["results", "extra"])]),
      ...resultsOf(step).map((result) => hasOnly(result, ["source_call_id", "content", "subagent_trajectory_ref", "extra"])),
    ].every(Boolean),
  ),
  "a result names a call of its step": every(({ tool_calls = [], observation }) =>
    (observation?.results ?? []).every(
      ({ source_call_id }) => source_call_id === undefined || tool_calls.some(({ tool_call_id }) => tool_call_id === source_call_id),
    ),
  ),
  "metrics have only known fields": ({ steps, final_metrics }) =>
    hasOnly(final_metrics, finalFields) && steps.every(({ metrics = {} }) => hasOnly(metrics, metricFields)),
  "token counts are whole numbers": every(
    ({ metrics }) => metrics === undefined || tokensOf(metrics).every((count) => Number.isInteger(count) && count >= 0),
  ),
  "a step without a call of a model has no metrics and no thoughts": every(
    (step) =>
      (step as { llm_call_count?: number }).llm_call_count !== 0 || (step.metrics === undefined && step.reasoning_content === undefined),
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
      .flatMap(resultsOf)
      .flatMap(({ subagent_trajectory_ref = [] }) => subagent_trajectory_ref)
      .every(
        (reference) =>
          hasOnly(reference, ["trajectory_id", "trajectory_path", "session_id", "extra"]) &&
          subagent_trajectories.some((child) => child.trajectory_id === reference.trajectory_id),
      ),
  "embedded trajectories have ids of their own": ({ subagent_trajectories = [] }) =>
    subagent_trajectories.every(({ trajectory_id }) => trajectory_id !== "") &&
    new Set(subagent_trajectories.map(({ trajectory_id }) => trajectory_id)).size === subagent_trajectories.length,
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
