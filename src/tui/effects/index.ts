// What the screen asks for, done through the Api: one table of effects, each in the file of its area. What comes of it
// goes back as messages; nothing here is on the screen.
import type { Effect } from "../state.ts";
import { agentsActions } from "./agents.ts";
import { askActions } from "./asks.ts";
import { told, type Actions, type Doing } from "./doing.ts";
import { choiceActions } from "./choices.ts";
import { costActions } from "./costs.ts";
import { findAgain, isLost } from "./follow.ts";
import { planActions } from "./plan.ts";
import { sessionsActions } from "./sessions.ts";
import { settingActions } from "./settings.ts";
import { treeActions } from "./tree.ts";
import { turnActions } from "./turns.ts";
import { typingActions } from "./typing.ts";

const actions: Actions = {
  ...turnActions,
  ...settingActions,
  ...typingActions,
  ...choiceActions,
  ...costActions,
  ...treeActions,
  ...agentsActions,
  ...planActions,
  ...sessionsActions,
  ...askActions,
  wake: ({ send }, { afterMs }) => void setTimeout(() => send({ type: "tick", at: performance.now() }), afterMs),
  notify: ({ notify }, { text }) => notify(text),
  redraw: ({ redraw }) => redraw(),
  quit: (doing) => doing.quit(),
};

export async function doEffect(doing: Doing, effect: Effect): Promise<void> {
  try {
    await actions[effect.type](doing, effect as never);
  } catch (error) {
    if (isLost(error)) void findAgain(doing);
    doing.send({ type: "failed", ...told(error) });
  }
}
