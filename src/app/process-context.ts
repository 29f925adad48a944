// State that all apps of one process share: its running turns, and how other processes reach it.
import { RunningTurns } from "../engine/turn/running-turns.ts";
import type { Api } from "../protocol/api/api.ts";
import type { EnclosingSession } from "../protocol/api/policy.ts";

export type ProcessContext = {
  running: RunningTurns;
  startedAt: number;
  /** The socket of this process, opened with its first turn; null if it has none. */
  address: () => string | null;
  /** Connects to another process by its socket. */
  connect: (address: string) => Promise<Api>;
  /** The session that this process was started in; null outside of any. */
  enclosingSession: () => EnclosingSession | null;
};

export function createProcessContext({ startedAt, enclosingSession, address, connect }: Omit<ProcessContext, "running">): ProcessContext {
  return { running: new RunningTurns(), startedAt, enclosingSession, address, connect };
}
