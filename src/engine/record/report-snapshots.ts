// Reports a snapshot that takes longer than a moment, so that watchers know what a turn waits for.
import type { Clock } from "../../kit/flow/clock.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { TransientEventBody } from "../../protocol/tree/event.ts";

/** A shorter snapshot is not reported. */
const reportAfterMs = 300;

/** The part of the snapshots that a turn needs. */
export type TurnSnapshots = Pick<Snapshots, "take" | "read" | "isFast" | "save">;

/** The same snapshots. `publish` gets one start and one end for all that run at the same time. */
export function reportSnapshots(snapshots: Snapshots, publish: (event: TransientEventBody) => void, clock: Clock): TurnSnapshots {
  let runningCount = 0;
  let isReported = false;
  let cancelTimer = (): void => {};
  function begin(): void {
    runningCount += 1;
    if (runningCount > 1) return;
    cancelTimer = clock.setTimer(reportAfterMs, () => {
      isReported = true;
      publish({ type: "snapshot.started" });
    });
  }
  function end(): void {
    runningCount -= 1;
    if (runningCount > 0) return;
    cancelTimer();
    if (isReported) publish({ type: "snapshot.ended" });
    isReported = false;
  }
  async function report<T>(act: () => Promise<T>): Promise<T> {
    begin();
    try {
      return await act();
    } finally {
      end();
    }
  }
  return {
    isFast: (project) => snapshots.isFast(project),
    save: (project) => snapshots.save(project),
    take: (project) => report(() => snapshots.take(project)),
    read: (project, withinMs) => report(() => snapshots.read(project, withinMs)),
  };
}
