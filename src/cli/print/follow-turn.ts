// Follows a turn to its end: every event to the printer, and the result object out of the last one. A message that came
// late has a turn of its own in the same feed: then its result is the one that counts.
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { resultRecord, type ResultRecord } from "../../protocol/json/records.ts";
import type { Printer } from "./printer.ts";

export async function followTurn(events: AsyncIterable<Event>, printer: Printer): Promise<ResultRecord> {
  let turn: string | null = null;
  let result: ResultRecord | null = null;
  try {
    for await (const event of events) {
      printer.event(event);
      // What a dead turn left is recorded first, under its own id.
      if (event.type === "turn.started") turn = event.turnId;
      if (event.type !== "turn.ended" || event.turnId !== turn) continue;
      result = resultRecord(event.turn, event.session, event);
    }
  } finally {
    // What fails after a turn (a copy of its transcript) does not take its answer away.
    if (result !== null) printer.finish(result);
  }
  if (result === null) throw new Fault("internal", "the turn ended without a result");
  return result;
}
