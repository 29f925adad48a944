// What a session has come to: awaited while something runs there, told as it was when nothing does. What a process that
// is gone has left is recorded first, so that the truth can be told about it.
import type { Session } from "../../protocol/tree/turn.ts";
import { followTurn, type FollowResult, type FollowOptions } from "./follow-turn.ts";
import type { ToolAnswer, CallContext } from "../tools/tool.ts";
import { turnAnswer, type TurnOutput } from "./turn-answer.ts";

export type CollectOptions = { afterSeq: number } & Pick<FollowOptions, "limitMs" | "onCancel">;

export async function collectTurn(
  session: Session,
  { afterSeq, ...how }: CollectOptions,
  { api, caller }: CallContext,
): Promise<ToolAnswer<TurnOutput>> {
  const rows = await api.turn.list({ endedSince: null });
  const turn = rows.find((row) => row.session.id === session.id)?.turn ?? null;
  const asks = await api.ask.list({ session: session.id });
  const from = async (seq: number): Promise<FollowResult> => {
    const events = api.turn.watch({ session: session.id, afterSeq: seq, until: "idle" });
    return followTurn({ api, caller, session, events, from: { turn, seq, asks }, ...how });
  };
  const followed = await from(afterSeq);
  if (followed.how !== "over") return turnAnswer(followed);
  if (followed.turn !== null && followed.turn.endedAt === null) await api.turn.kill({ session: session.id, force: false });
  else if (followed.turn !== null && followed.answer !== "") return turnAnswer(followed);
  // It ended before what was asked for, or without having been able to say so.
  return turnAnswer(await from(0));
}
