// Follows a turn to its end: passes every event to the printer, and returns the result record.
// A late message starts another turn in the same feed. Then the result of the last turn counts.
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
      // The end of an interrupted earlier turn comes first, under its own id.
      if (event.type === "turn.started") turn = event.turnId;
      if (event.type !== "turn.ended" || event.turnId !== turn) continue;
      result = resultRecord(event.turn, event.session, event);
    }
  } finally {
    // A failure after the turn (such as copying its transcript) must not suppress the answer.
    if (result !== null) printer.finish(result);
    printer.close?.();
  }
  if (result === null) throw new Fault("internal", "the turn ended without a result");
  return result;
}
