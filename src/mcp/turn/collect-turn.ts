// Returns the answer of a session's latest turn, and waits for it while it runs. If the process of an open turn has died, it
// first ends the turn in the store. The answer is then final.
import type { Session } from "../../protocol/tree/turn.ts";
import { findRunningTurn, followTurn, type FollowResult, type FollowOptions } from "./follow-turn.ts";
import type { ToolAnswer, CallContext } from "../tools/tool.ts";
import { turnAnswer, type TurnOutput } from "./turn-answer.ts";

export type CollectOptions = { afterSeq: number } & Pick<FollowOptions, "limitMs" | "onCancel">;

export async function collectTurn(
  session: Session,
  { afterSeq, ...options }: CollectOptions,
  { api, caller }: CallContext,
): Promise<ToolAnswer<TurnOutput>> {
  const turn = (await findRunningTurn(api, session))?.turn ?? null;
  const asks = await api.ask.list({ session: session.id });
  const followFrom = async (seq: number): Promise<FollowResult> => {
    const events = api.turn.watch({ session: session.id, afterSeq: seq, until: "idle" });
    return followTurn({ api, caller, session, events, from: { turn, seq, asks }, ...options });
  };
  const followed = await followFrom(afterSeq);
  if (followed.how !== "over") return turnAnswer(followed);
  if (followed.turn !== null && followed.turn.endedAt === null) await api.turn.kill({ session: session.id, force: false });
  else if (followed.turn !== null && followed.answer !== "") return turnAnswer(followed);
  // The turn ended before `afterSeq`, or its process died: read it from the start.
  return turnAnswer(await followFrom(0));
}
