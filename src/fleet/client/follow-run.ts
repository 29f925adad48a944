// The events of a session while its run waits, runs or is taken over by another worker.
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { PgDb } from "../../store/postgres/connection/connection.ts";
import { runOf } from "../queue/runs.ts";

type FollowDeps = { db: PgDb; watch: Api["turn"]["watch"] };

const pollMs = 300;

/** With `isOnlyRun` a run that is dead is an error of the caller; else its events just end. */
export async function* followRun(
  { db, watch }: FollowDeps,
  { session, afterSeq, isOnlyRun }: { session: string; afterSeq: number; isOnlyRun: boolean },
): AsyncGenerator<Event, void> {
  for (let seq = afterSeq; ;) {
    // Read first: a run that has ended before has no event that the watcher would miss.
    const run = await runOf(db, session);
    try {
      for await (const event of watch({ session, afterSeq: seq, until: "idle" })) {
        if (!("n" in event)) seq = event.seq;
        yield event;
      }
    } catch (error) {
      // The worker is gone, and its session has not been taken over yet.
      if (run === null || !(error instanceof Fault) || !["owner-unreachable", "connection-lost"].includes(error.code)) throw error;
    }
    if (run === null || run.state === "done") return;
    if (run.state === "dead" && !isOnlyRun) return;
    if (run.state === "dead")
      throw new Fault("internal", `the run has ended without a result: ${run.why ?? "no reason is known"}`, {
        hint: "`skein fleet status --all` shows it; send the task again",
      });
    await Bun.sleep(pollMs);
  }
}
