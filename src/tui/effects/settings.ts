// Effects that change the next turns: network, model and agent.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { EffectHandlers, EffectContext } from "./effect-context.ts";

export const settingEffects: EffectHandlers<"net" | "model" | "agent"> = {
  net: setNet,
  model: setModel,
  agent: setAgent,
};

/** Planning and acting turns have separate network settings. */
function setNet({ turn, policies, send }: EffectContext, { net }: { net: "on" | "off" }): void {
  if (turn.policy.name === "full" && net === "off") {
    send({ type: "set", fields: { net: "on" } });
    return send({ type: "notice", text: "policy full has no sandbox, so its network can't be turned off" });
  }
  turn.policy = { ...turn.policy, net };
  policies[turn.policy.name === "plan" ? "plan" : "act"] = turn.policy;
}

async function setModel(ctx: EffectContext, { name }: { name: string }): Promise<void> {
  const { api, turn, directory, send } = ctx;
  await api.turn.check({ ...turn, model: name, agent: nextAgent(ctx).agent, isNew: false, directory });
  turn.model = name;
  if (ctx.session === null) ctx.open = { ...ctx.open, model: name };
  send({ type: "notice", text: `model of the next turns: ${oneLine(name, 100)}` });
}

/** Resets the model, because another agent may not have it. */
async function setAgent(ctx: EffectContext, { name }: { name: string }): Promise<void> {
  const { api, turn, directory, send } = ctx;
  if (name !== nextAgent(ctx).agent) {
    await api.turn.check({ ...turn, model: null, agent: name, isNew: false, directory });
    Object.assign(turn, { agent: name, model: null });
    if (ctx.session === null) ctx.open = { ...ctx.open, agent: name, model: null };
  }
  send({ type: "notice", text: `agent of the next turns: ${oneLine(nextAgent(ctx).agent, 100)}` });
}

/** The agent and model of the next turn. A null model is the agent's default. */
export function nextAgent({ turn, session, open }: EffectContext): { agent: string; model: string | null } {
  const defaults = session ?? open;
  const agent = turn.agent ?? defaults.agent;
  return { agent, model: turn.model ?? (defaults.agent === agent ? defaults.model : null) };
}
