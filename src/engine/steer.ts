// Messages to a turn that runs: kept first, then given to its agent at the next step.
import type { QueuedInput } from "../protocol/control.ts";
import { Fault } from "../protocol/error.ts";
import type { EngineParts } from "./engine.ts";
import { atOwner } from "./owner.ts";

export async function steer(parts: EngineParts, { session, text }: { session: string; text: string }): Promise<QueuedInput> {
  if (text.trim() === "") throw new Fault("usage", "the message is empty");
  return atOwner(parts, session, {
    here: (turn) => {
      if (turn.params.steerable) return turn.recorder.queueInput(text);
      throw new Fault("usage", "this session takes no messages while it runs", {
        hint: "a sub-session does when it is spawned attachable",
      });
    },
    there: (api) => api.turn.steer({ session, text }),
    nowhere: () => {
      throw new Fault("usage", "nothing runs in this session", { hint: `skein run --resume ${session} "message"` });
    },
  });
}
