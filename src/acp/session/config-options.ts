// The options of a session: agent, model, effort and policy. The policy is also the session's mode, for older clients.
// A choice holds for the next turns; the session stores agent and model when a turn starts.
import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk";
import type { AgentInfo } from "../../protocol/api/agents.ts";
import type { Api, ModelInfo, TurnStartParams } from "../../protocol/api/api.ts";
import { policyNames, type PolicyName } from "../../protocol/api/policy.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { invalidParams } from "../server/request-errors.ts";

export type Choices = { agent: string; model: string | null; effort: string | null; policy: PolicyName };
export type Offer = { agents: readonly AgentInfo[]; models: readonly ModelInfo[] };

/** The value for a model or an effort that the agent chooses itself. */
const automatic = "default";

const policyTexts: Record<PolicyName, string> = {
  workspace: "Tools write only in the project",
  readonly: "Tools only read",
  plan: "Tools read, and write only .skein/plan.md",
  full: "Tools may do everything, without a sandbox",
};

export async function readOffer(api: Api): Promise<Offer> {
  const [agents, models] = await Promise.all([api.agents.list(), api.models.list()]);
  return { agents, models };
}

export function initialChoices({ agent, model }: Pick<Session, "agent" | "model">, policy: PolicyName, offer: Offer): Choices {
  return { agent, policy, ...splitEffort(model, effortsOf(agent, offer)) };
}

/** Agent, model and effort of a turn. An external agent without a model gets the effort by itself. */
export function turnAgent({ agent, model, effort }: Choices): Pick<TurnStartParams, "agent" | "model" | "effort"> {
  if (effort === null) return { agent, model };
  return model === null ? { agent, model, effort } : { agent, model: `${model}:${effort}` };
}

/** Another agent begins with its own model and effort. */
export function changeOption(choices: Choices, id: string, value: string): Choices {
  const orNull = value === automatic ? null : value;
  switch (id) {
    case "agent":
      return value === choices.agent ? choices : { ...choices, agent: value, model: null, effort: null };
    case "model":
      return { ...choices, model: orNull };
    case "effort":
      return { ...choices, effort: orNull };
    case "policy":
      return { ...choices, policy: requirePolicy(value) };
    default:
      throw invalidParams(`there is no option "${id}": agent, model, effort, policy`);
  }
}

export function requirePolicy(value: string): PolicyName {
  const policy = policyNames.find((name) => name === value);
  if (policy === undefined) throw invalidParams(`there is no policy "${value}": ${policyNames.join(", ")}`);
  return policy;
}

export function modesOf({ policy }: Choices): SessionModeState {
  return { currentModeId: policy, availableModes: policyNames.map((id) => ({ id, name: id, description: policyTexts[id] })) };
}

export function optionsOf(choices: Choices, offer: Offer): SessionConfigOption[] {
  const { agent, model, effort, policy } = choices;
  const efforts = effortsOf(agent, offer);
  return [
    select("agent", { name: "Agent", category: "_agent", value: agent, values: agentValues(choices, offer) }),
    select("model", { name: "Model", category: "model", value: model ?? automatic, values: modelValues(choices, offer) }),
    ...(efforts.length === 0
      ? []
      : [
          select("effort", {
            name: "Effort",
            category: "thought_level",
            value: effort ?? automatic,
            values: [automatic, ...withCurrent(efforts, effort)].map((value) => ({ value, name: value })),
          }),
        ]),
    select("policy", {
      name: "Policy",
      category: "mode",
      value: policy,
      values: policyNames.map((value) => ({ value, name: value, description: policyTexts[value] })),
    }),
  ];
}

type Select = { name: string; category: string; value: string; values: { value: string; name: string; description?: string }[] };

function select(id: string, { name, category, value, values }: Select): SessionConfigOption {
  return { type: "select", id, name, category, currentValue: value, options: values };
}

/** Agents that can take a turn, and the current one. */
function agentValues({ agent }: Choices, { agents }: Offer): Select["values"] {
  const usable = agents.filter(({ name, missing }) => missing === null || name === agent);
  const values = usable.map(({ name, version }) => ({ value: name, name, ...(version === null ? {} : { description: version }) }));
  return values.some(({ value }) => value === agent) ? values : [{ value: agent, name: agent }, ...values];
}

/** Models that the agent can use with a credential of this machine, the recommended ones first. */
function modelValues({ agent, model }: Choices, offer: Offer): Select["values"] {
  const info = offer.agents.find(({ name }) => name === agent);
  const isUsable = ({ vendor, ready }: ModelInfo) => {
    if (info === undefined || info.kind === "native") return ready;
    return info.credentials.some((credential) => credential.vendor === vendor && credential.kind !== "none");
  };
  const usable = offer.models.filter(isUsable).toSorted((a, b) => Number(b.recommended) - Number(a.recommended));
  const names = withCurrent(
    usable.map(({ name }) => name),
    model,
  ).map((name) => ({ value: name, name }));
  return model === null ? [{ value: automatic, name: `Default of ${agent}` }, ...names] : names;
}

function withCurrent(values: readonly string[], current: string | null): string[] {
  return current === null || values.includes(current) ? [...values] : [current, ...values];
}

function effortsOf(agent: string, { agents }: Offer): readonly string[] {
  return agents.find(({ name }) => name === agent)?.can.efforts ?? [];
}

/** A model name may end with an effort. Other names contain colons too, such as `qwen3:8b`. */
function splitEffort(model: string | null, efforts: readonly string[]): Pick<Choices, "model" | "effort"> {
  const effort = model?.slice(model.lastIndexOf(":") + 1);
  if (model === null || effort === undefined || !model.includes(":") || !efforts.includes(effort)) return { model, effort: null };
  return { model: model.slice(0, -effort.length - 1), effort };
}
