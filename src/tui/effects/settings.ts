// How the next turns are taken: network, model and agent.
import { oneLine } from "../../kit/text.ts";
import type { Actions, Doing } from "./doing.ts";

export const settingActions: Actions<"net" | "model" | "agent"> = {
  net: ({ turn }, { net }) => void (turn.policy = { ...turn.policy, net }),
  model: setModel,
  agent: setAgent,
};

async function setModel(doing: Doing, { name }: { name: string | null }): Promise<void> {
  const { api, turn, directory, send } = doing;
  const agent = takerOf(doing);
  if (name !== null) {
    await api.turn.check({ ...turn, model: name, agent, isNew: false, directory });
    turn.model = name;
    if (doing.session === null) doing.open = { ...doing.open, model: name };
  }
  const kept = doing.session === null ? doing.open.model : doing.session.agent === agent ? doing.session.model : null;
  send({ type: "told", text: `${name === null ? "" : "from now on "}${oneLine(turn.model ?? kept ?? "the default model", 100)} answers` });
}

/** The model of the one before is not the new one's. */
async function setAgent(doing: Doing, { name }: { name: string | null }): Promise<void> {
  const { api, turn, directory, send } = doing;
  if (name !== null && name !== takerOf(doing)) {
    await api.turn.check({ ...turn, model: null, agent: name, isNew: false, directory });
    Object.assign(turn, { agent: name, model: null });
    if (doing.session === null) doing.open = { ...doing.open, agent: name, model: null };
  }
  send({ type: "told", text: `${name === null ? "" : "from now on "}${oneLine(takerOf(doing), 100)} takes the turns` });
}

export function takerOf({ turn, session, open }: Doing): string {
  return turn.agent ?? session?.agent ?? open.agent;
}
