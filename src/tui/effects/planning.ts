// Sets whether the next turn plans or acts, and reads the progress of the plan that the visible session executes.
import { stripAnsi } from "../../kit/text/ansi.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { tickedSteps } from "../model/plan-steps.ts";
import type { EffectContext } from "./effect-context.ts";

/** Planning and acting turns have different policies, also for the network. */
export function setPlanning({ turn, policies, send }: EffectContext, isOn: boolean): void {
  turn.policy = isOn ? policies.plan : policies.act;
  send({ type: "set", fields: { isPlanning: isOn, net: turn.policy.net } });
}

/** Restores the mode of the session's last turn. Without turns, the mode of the screen stays. */
export async function restoreMode(ctx: EffectContext, session: Session | null, turns: readonly Turn[]): Promise<void> {
  const lastTurn = turns.findLast((turn) => turn.endedAt !== null);
  if (lastTurn !== undefined) setPlanning(ctx, lastTurn.policy.name === "plan");
  await readPlan(ctx, session);
}

export async function readPlan({ api, directory, send }: EffectContext, session: Session | null): Promise<void> {
  if (session?.plan === undefined) return send({ type: "steps", session: session?.id ?? null, steps: [] });
  const { text } = await api.plan.read({ directory });
  send({ type: "steps", session: session.id, steps: tickedSteps(stripAnsi(session.plan), stripAnsi(text)), plan: stripAnsi(text) });
}
