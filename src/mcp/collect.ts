// What a session has come to: awaited while something runs there, told as it was when nothing does. What a process that
// is gone has left is recorded first, so that the truth can be told about it.
import type { Session } from "../protocol/turn.ts";
import { follow, type Followed, type Following } from "./follow.ts";
import type { Answer, Place } from "./tool.ts";
import { turnAnswer, type TurnOutput } from "./turn-answer.ts";

export type Collecting = { afterSeq: number } & Pick<Following, "limitMs" | "onCancel">;

export async function collect(session: Session, { afterSeq, ...how }: Collecting, { api, caller }: Place): Promise<Answer<TurnOutput>> {
  const rows = await api.turn.list({ endedSince: null });
  const turn = rows.find((row) => row.session.id === session.id)?.turn ?? null;
  const asks = await api.ask.list({ session: session.id });
  const from = async (seq: number): Promise<Followed> => {
    const events = api.turn.watch({ session: session.id, afterSeq: seq, until: "idle" });
    return follow({ api, caller, session, events, from: { turn, seq, asks }, ...how });
  };
  const followed = await from(afterSeq);
  if (followed.how !== "over") return turnAnswer(followed);
  if (followed.turn !== null && followed.turn.endedAt === null) await api.turn.kill({ session: session.id, force: false });
  else if (followed.turn !== null && followed.answer !== "") return turnAnswer(followed);
  // It ended before what was asked for, or without having been able to say so.
  return turnAnswer(await from(0));
}
