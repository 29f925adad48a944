// Messages to a running turn. A message is stored first. The turn's agent gets it at its next step, unless the user withdraws
// the message before.
import type { QueuedInput } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { EngineDeps } from "../engine.ts";
import { callOwner } from "./owner.ts";
import { withLease } from "../tree/tree-ops.ts";

export async function steer(deps: EngineDeps, { session, text }: { session: string; text: string }): Promise<QueuedInput> {
  if (text.trim() === "") throw new Fault("usage", "the message is empty");
  return callOwner(deps, session, {
    local: (turn) => {
      if (turn.params.steerable) return turn.recorder.queueInput(text);
      throw new Fault("usage", "this session accepts no messages while it runs", {
        hint: "a sub-session accepts messages only if it was spawned with attachable",
      });
    },
    remote: (api) => api.turn.steer({ session, text }),
    idle: () => {
      throw new Fault("usage", "nothing runs in this session", { hint: `skein run --resume ${session} "message"` });
    },
  });
}

/** Withdraws a queued message. Null if it is no longer queued. A message that no turn got stays queued for the next turn. */
export async function takeBack(deps: EngineDeps, { session, input }: { session: string; input: string }): Promise<QueuedInput | null> {
  return callOwner(deps, session, {
    local: (turn) => turn.recorder.dropInput(input),
    remote: (api) => api.turn.takeBack({ session, input }),
    idle: () => withLease(deps, session, async (_store, recorder) => recorder.dropInput(input)),
  });
}
