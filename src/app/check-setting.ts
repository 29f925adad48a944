// Checks a value for `config set` as the commands that use it would: a name of a model or an agent must exist, and the
// keys of a configured agent or of a policy must fit together. The type of the value is checked in src/config.
import { chooseAgent } from "../agents/external/adapters/choose-agent.ts";
import { recipeEntry } from "../agents/external/configured/recipe.ts";
import { nameOptions } from "../models/choose-model.ts";
import { requireModelName } from "../models/model-names.ts";
import { Fault } from "../protocol/api/error.ts";
import { automaticAgent, modelOptions } from "./agents/default-agent.ts";
import { agentRecipes } from "./agents/external-agents.ts";
import type { AppContext } from "./app-context.ts";

/** `value` is the checked value; undefined removes the key. Throws a config fault. */
export function checkSetting(ctx: AppContext, key: string, value: unknown): void {
  try {
    checkNames(ctx, key, value);
    checkCombination(ctx, key, value);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault("config", `"${key}": ${error.message}`, { hint: error.hint, cause: error });
  }
}

function checkNames(ctx: AppContext, key: string, value: unknown): void {
  const names = { ...nameOptions(modelOptions(ctx)), agents: Object.keys(agentRecipes(ctx)) };
  if ((key === "model" || key === "plan_model") && typeof value === "string") requireModelName(value, names);
  if ((key === "agent" || key === "plan_agent") && typeof value === "string" && value !== automaticAgent) chooseAgent(value, null, names);
  const model = /^models\.([^/]+)\/.*$/.exec(key);
  if (model?.[1] !== undefined && value !== undefined) requireModelName(`${model[1]}/_`, names);
}

function checkCombination({ config: { values } }: AppContext, key: string, value: unknown): void {
  const policy = key === "policy" ? value : values.policy;
  const sandbox = key === "sandbox" ? value : values.sandbox;
  if (sandbox === "off" && policy !== "full" && (key === "sandbox" || key === "policy"))
    throw new Fault("config", "sandbox off needs policy full", { hint: "skein config set policy full" });
  const [, name, field] = /^agents\.([^.]+)\.(\w+)$/.exec(key) ?? [];
  if (name === undefined || field === undefined) return;
  const empty = { command: null, args: [], resumeArgs: null, output: "text" as const, env: {}, hint: null };
  const change = { [field === "resume_args" ? "resumeArgs" : field]: value ?? null };
  recipeEntry(name, { ...empty, ...values.agents[name], ...change });
}
