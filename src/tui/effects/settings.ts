// How the next turns are taken: network, model and agent.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { EffectHandlers, EffectContext } from "./effect-context.ts";

export const settingEffects: EffectHandlers<"net" | "model" | "agent"> = {
  net: setNet,
  model: setModel,
  agent: setAgent,
};

/** What acts and what plans have a network each. */
function setNet({ turn, policies, send }: EffectContext, { net }: { net: "on" | "off" }): void {
  if (turn.policy.name === "full" && net === "off") {
    send({ type: "net", net: "on" });
    return send({ type: "told", text: "policy full has no walls: its network can't be cut off" });
  }
  turn.policy = { ...turn.policy, net };
  policies[turn.policy.name === "plan" ? "plan" : "act"] = turn.policy;
}

async function setModel(ctx: EffectContext, { name }: { name: string }): Promise<void> {
  const { api, turn, directory, send } = ctx;
  await api.turn.check({ ...turn, model: name, agent: nextAgent(ctx).agent, isNew: false, directory });
  turn.model = name;
  if (ctx.session === null) ctx.open = { ...ctx.open, model: name };
  send({ type: "told", text: `from now on ${oneLine(name, 100)} answers` });
}

/** The model of the one before is not the new one's. */
async function setAgent(doing: EffectContext, { name }: { name: string }): Promise<void> {
  const { api, turn, directory, send } = doing;
  if (name !== nextAgent(doing).agent) {
    await api.turn.check({ ...turn, model: null, agent: name, isNew: false, directory });
    Object.assign(turn, { agent: name, model: null });
    if (doing.session === null) doing.open = { ...doing.open, agent: name, model: null };
  }
  send({ type: "told", text: `from now on ${oneLine(nextAgent(doing).agent, 100)} takes the turns` });
}

/** Who would take the next turn, and with which model; null is its own default. */
export function nextAgent({ turn, session, open }: EffectContext): { agent: string; model: string | null } {
  const known = session ?? open;
  const agent = turn.agent ?? known.agent;
  return { agent, model: turn.model ?? (known.agent === agent ? known.model : null) };
}
