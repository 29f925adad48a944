// Sets whether the next turn plans or acts, and reads the progress of the plan that the visible session executes.
import { stripAnsi } from "../../kit/text/ansi.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { tickedSteps } from "../model/plan-steps.ts";
import type { PolicyName } from "../../protocol/api/policy.ts";
import type { EffectContext, PolicySlot } from "./effect-context.ts";

/** Each policy has its own setting of the network. */
export function setPolicy({ turn, policies, send }: EffectContext, slot: PolicySlot): void {
  turn.policy = policies[slot];
  send({ type: "set", fields: { isPlanning: slot === "plan", policy: turn.policy.name, net: turn.policy.net } });
}

export function setPlanning(ctx: EffectContext, isOn: boolean): void {
  setPolicy(ctx, isOn ? "plan" : "act");
}

/** The slot to restore after a turn under this policy. It is never wider than the configured policy. */
export function slotOf(name: PolicyName): PolicySlot {
  return name === "plan" || name === "readonly" ? name : "act";
}

/** Restores the policy of the session's last turn. Without turns, the policy of the screen stays. */
export async function restoreMode(ctx: EffectContext, session: Session | null, turns: readonly Turn[]): Promise<void> {
  const lastTurn = turns.findLast((turn) => turn.endedAt !== null && turn.agent !== "shell");
  if (lastTurn !== undefined) setPolicy(ctx, slotOf(lastTurn.policy.name));
  await readPlan(ctx, session);
}

export async function readPlan({ api, directory, send }: EffectContext, session: Session | null): Promise<void> {
  if (session?.plan === undefined) return send({ type: "steps", session: session?.id ?? null, steps: [] });
  const { text } = await api.plan.read({ directory });
  send({ type: "steps", session: session.id, steps: tickedSteps(stripAnsi(session.plan), stripAnsi(text)), plan: stripAnsi(text) });
}
