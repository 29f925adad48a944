// Effects that change the next turns (network, model, agent), and the lists of models and agents for the pickers.
import { oneLine } from "../../kit/text/cut-text.ts";
import { priceText, windowText } from "../../kit/text/price-text.ts";
import type { AgentInfo } from "../../protocol/api/agents.ts";
import type { VendorAuth, ModelInfo } from "../../protocol/api/api.ts";
import type { PickerItem } from "../overlays/picker.ts";
import type { PolicyName } from "../../protocol/api/policy.ts";
import type { EffectHandlers, EffectContext, PolicySlot } from "./effect-context.ts";
import { setPolicy } from "./planning.ts";

export const settingEffects: EffectHandlers<"net" | "policy" | "model" | "agent" | "list"> = {
  /** Each policy has its own setting of the network. */
  net: ({ turn, policies, send }, { net, hosts }) => {
    if (turn.policy.name === "full" && net === "off") {
      send({ type: "set", fields: { net: "on" } });
      return send({ type: "notice", text: "policy full has no sandbox, so its network can't be turned off" });
    }
    const changed = { ...turn.policy, net, ...(hosts === undefined ? {} : { netHosts: hosts }) };
    for (const slot of Object.keys(policies) as PolicySlot[]) if (policies[slot] === turn.policy) policies[slot] = changed;
    turn.policy = changed;
  },
  /** Fails before the change if the policy can't be enforced here. */
  policy: async (ctx, { name }) => {
    const { api, turn, policies, directory, send } = ctx;
    const slot = name ?? nextSlot(ctx);
    await api.turn.check({ ...turn, ...nextAgent(ctx), policy: policies[slot], isNew: false, directory });
    setPolicy(ctx, slot);
    const { name: policyName } = policies[slot];
    send({ type: "notice", text: `policy of the next turns: ${policyName}, ${policyTexts[policyName]}` });
  },
  model: async (ctx, { name }) => {
    const { api, turn, directory, send } = ctx;
    await api.turn.check({ ...turn, model: name, agent: nextAgent(ctx).agent, isNew: false, directory });
    turn.model = name;
    if (ctx.session === null) ctx.open = { ...ctx.open, model: name };
    send({ type: "notice", text: `model of the next turns: ${oneLine(name, 100)}` });
  },
  /** Resets the model, because another agent may not have it. */
  agent: async (ctx, { name }) => {
    const { api, turn, directory, send } = ctx;
    if (name !== nextAgent(ctx).agent) {
      await api.turn.check({ ...turn, model: null, agent: name, isNew: false, directory });
      Object.assign(turn, { agent: name, model: null });
      if (ctx.session === null) ctx.open = { ...ctx.open, agent: name, model: null };
    }
    send({ type: "notice", text: `agent of the next turns: ${oneLine(nextAgent(ctx).agent, 100)}` });
  },
  /** Lists usable models or agents first. Sends an empty list after an error, so that the picker does not wait. */
  list: async (ctx, { purpose }) => {
    let items: PickerItem[] = [];
    try {
      items = await (purpose === "models" ? modelItems(ctx) : agentItems(ctx));
    } finally {
      ctx.send({ type: "listed", purpose, items });
    }
  },
};

function nextSlot({ turn, policies }: EffectContext): PolicySlot {
  if (turn.policy.name === "plan") return "readonly";
  if (turn.policy.name !== "readonly") return "plan";
  return policies.act.name === "full" ? "act" : "workspace";
}

const policyTexts: Record<PolicyName, string> = {
  workspace: "tools write only in the project",
  plan: "tools read, and write only .skein/plan.md",
  readonly: "tools only read",
  full: "tools may do everything",
};

/** The agent and model of the next turn. A null model is the agent's default. */
export function nextAgent({ turn, session, open }: Pick<EffectContext, "turn" | "session" | "open">): {
  agent: string;
  model: string | null;
} {
  const defaults = session ?? open;
  const agent = turn.agent ?? defaults.agent;
  return { agent, model: turn.model ?? (defaults.agent === agent ? defaults.model : null) };
}

const currentMark = "● ";
const otherMark = "  ";

/** An external agent supports only some vendors, and uses its own credentials. */
async function modelItems(ctx: EffectContext): Promise<PickerItem[]> {
  const { api } = ctx;
  const { agent: agentName, model: currentModel } = nextAgent(ctx);
  const [models, auth, agents] = await Promise.all([api.models.list(), api.auth.status(), agentName === "native" ? [] : api.agents.list()]);
  const agent = agents.find(({ name }) => name === agentName);
  const hasCredential = ({ vendor }: ModelInfo) =>
    agent?.credentials.some((credential) => credential.vendor === vendor && credential.kind !== "none") === true;
  const offered = models.flatMap((model) => {
    if (agent === undefined) return [model];
    return agent.vendors.includes(model.vendor) ? [{ ...model, isDefault: false, ready: hasCredential(model) }] : [];
  });
  const isCurrent = ({ name, isDefault }: ModelInfo) =>
    currentModel === null ? isDefault && agent === undefined : currentModel === name || currentModel.startsWith(`${name}:`);
  const rank = (model: ModelInfo) => (isCurrent(model) ? 0 : model.isDefault ? 1 : model.ready ? 2 : 3);
  return offered.toSorted((a, b) => rank(a) - rank(b)).map((model) => modelItem(model, isCurrent(model), auth));
}

/** A model without a key shows which key is missing in place of its price. */
function modelItem(model: ModelInfo, isCurrent: boolean, auth: readonly VendorAuth[]): PickerItem {
  const prices = `${priceText(model.inputPrice).padStart(7)} in ${priceText(model.outputPrice).padStart(7)} out`;
  const hint = auth.find(({ vendor }) => vendor === model.vendor)?.hint.split(";")[0] || "no key";
  return {
    id: model.name,
    label: (isCurrent ? currentMark : otherMark) + model.name,
    detail: `${windowText(model.contextWindow).padStart(5)} ${model.ready ? prices : `  ${hint}`}`,
    isCurrent,
  };
}

async function agentItems(ctx: EffectContext): Promise<PickerItem[]> {
  const { agent: current } = nextAgent(ctx);
  const agents = await ctx.api.agents.list();
  const rank = (agent: AgentInfo) => (agent.name === current ? 0 : agent.missing === null ? 1 : agent.installed ? 2 : 3);
  return agents.toSorted((a, b) => rank(a) - rank(b)).map((agent) => agentItem(agent, agent.name === current));
}

function agentItem({ name, version, missing, hint, credentials, installed }: AgentInfo, isCurrent: boolean): PickerItem {
  const sources = [...new Set(credentials.flatMap(({ kind, source }) => (kind === "none" || source === null ? [] : [source])))];
  const status =
    missing ?? (sources.length === 0 ? "no credential needed" : `${sources.slice(0, 2).join(", ")}${sources.length > 2 ? ", …" : ""}`);
  const notes = credentials.flatMap(({ kind, note }) => (kind === "sign-in" && note !== null ? [note] : []));
  return {
    id: name,
    label: (isCurrent ? currentMark : otherMark) + name,
    detail: `${(installed ? (version ?? "") : "-").padEnd(12)} ${status}`,
    preview: [...(hint === null ? [] : [hint]), ...notes].join("\n"),
    isCurrent,
  };
}
