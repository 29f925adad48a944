// The table of effects. Each runs through the Api and sends its results back as messages. Effects draw nothing.
import type { Effect } from "../model/state.ts";
import { agentsEffects } from "./agents.ts";
import { askEffects } from "./asks.ts";
import { describeError, type EffectHandlers, type EffectContext } from "./effect-context.ts";
import { costEffects } from "./costs.ts";
import { reconnect, isConnectionLost } from "./follow.ts";
import { planEffects } from "./plan.ts";
import { raceEffects } from "./race.ts";
import { reportEffects } from "./reports.ts";
import { sessionsEffects } from "./sessions.ts";
import { settingEffects } from "./settings.ts";
import { treeEffects } from "./tree.ts";
import { turnEffects } from "./turns.ts";
import { typingEffects } from "./typing.ts";

const handlers: EffectHandlers = {
  ...turnEffects,
  ...settingEffects,
  ...typingEffects,
  ...costEffects,
  ...treeEffects,
  ...agentsEffects,
  ...planEffects,
  ...sessionsEffects,
  ...askEffects,
  ...raceEffects,
  ...reportEffects,
  wake: ({ send }, { afterMs }) => void setTimeout(() => send({ type: "tick", now: performance.now() }), afterMs),
  notify: ({ notify }, { text }) => notify(text),
  redraw: ({ redraw }) => redraw(),
  quit: (ctx) => ctx.quit(),
};

export async function runEffect(ctx: EffectContext, effect: Effect): Promise<void> {
  try {
    await handlers[effect.type](ctx, effect as never);
  } catch (error) {
    if (isConnectionLost(error)) void reconnect(ctx);
    // The panel reads again later.
    if (effect.type === "read tree") ctx.send({ type: "tree", message: { type: "failed", reading: effect.reading } });
    if (effect.type === "list agents") ctx.send({ type: "agents", message: { type: "failed", reading: effect.reading } });
    ctx.send({ type: "failed", ...describeError(error) });
  }
}
