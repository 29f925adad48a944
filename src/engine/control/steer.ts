// Messages to a turn that runs: kept first, then given to its agent at the next step, or taken back before that.
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
      throw new Fault("usage", "this session takes no messages while it runs", {
        hint: "a sub-session does when it is spawned attachable",
      });
    },
    remote: (api) => api.turn.steer({ session, text }),
    idle: () => {
      throw new Fault("usage", "nothing runs in this session", { hint: `skein run --resume ${session} "message"` });
    },
  });
}

/** Null when it does not wait any more. What a turn left behind waits for the next one. */
export async function takeBack(deps: EngineDeps, { session, input }: { session: string; input: string }): Promise<QueuedInput | null> {
  return callOwner(deps, session, {
    local: (turn) => turn.recorder.dropInput(input),
    remote: (api) => api.turn.takeBack({ session, input }),
    idle: () => withLease(deps, session, async (_store, recorder) => recorder.dropInput(input)),
  });
}
