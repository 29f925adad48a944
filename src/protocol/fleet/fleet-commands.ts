// Operations on the fleet that belong to no session: sending runs, workers, schedules. The command line gets them as one object.
import type { Event } from "../tree/event.ts";
import type { Session } from "../tree/turn.ts";
import type { TurnStartParams } from "../api/api.ts";

export type FleetCommands = {
  /** Stores the files of a project for a session and queues its turn. */
  send: (run: FleetRunRequest) => Promise<SentRun>;
  /** The events of a session after `afterSeq`, whichever workers run it one after another. Ends when its run has ended. */
  follow: (session: string, afterSeq: number) => AsyncIterable<Event>;
  /** The run is not started any more, or its turn is stopped. */
  stop: (session: string) => Promise<void>;
  status: (options: { all: boolean }) => Promise<FleetStatus>;
  /** Null if there is no such worker, or several. */
  drain: (worker: string) => Promise<string | null>;
  pull: (session: string, directory: string) => Promise<PulledFiles>;
  addSchedule: (schedule: { name: string; cron: string; tz: string; run: FleetRunRequest }) => Promise<void>;
  removeSchedule: (name: string) => Promise<boolean>;
  schedules: () => Promise<FleetSchedule[]>;
  /** The most runs of one person at once; `owner` "*" is everyone without a cap of their own. */
  setCap: (owner: string, most: number | null) => Promise<void>;
  /** Works on runs until it is drained or stopped. Only in a process with a role. */
  work: (options: WorkerOptions) => Promise<void>;
};

export type FleetRunRequest = {
  session: Session;
  directory: string;
  turn: TurnStartParams;
  owner: string;
  /** The label that the worker must have. */
  needs: string | null;
  priority: number;
  startAfter: Date | null;
};

/** `leftOut` are files that are too large to be sent. */
export type SentRun = {
  run: string;
  leftOut: string[];
  /** The last event of the session before the run; 0 for a new session. */
  afterSeq: number;
  /** Whether the session was in the fleet before: its files are those of its last checkpoint. */
  isContinued: boolean;
};

export type WorkerRole = {
  /** How many runs it takes at once. */
  slots: number;
  labels: string[];
  /** The directory for the files of sessions; null: one beside the data directory. */
  workspaces: string | null;
};

export type WorkerOptions = Pick<WorkerRole, "slots" | "labels"> & {
  onReady: (worker: string) => void;
  /** Called once with the function that stops the worker, for signals. */
  onStop: (stop: () => void) => void;
  log: (line: string) => void;
};

export type FleetStatus = { database: string; workers: FleetWorker[]; runs: FleetRun[]; caps: { owner: string; most: number }[] };

export type FleetWorker = {
  id: string;
  machine: string;
  pid: number;
  version: string;
  slots: number;
  labels: string[];
  running: number;
  isDraining: boolean;
  seenMsAgo: number;
  startedAt: number;
};

export type FleetRun = {
  id: string;
  session: string;
  owner: string;
  title: string;
  project: string;
  needs: string | null;
  priority: number;
  state: "waiting" | "running" | "done" | "dead";
  attempts: number;
  machine: string | null;
  why: string | null;
  submittedAt: number;
  startedAt: number | null;
};

export type FleetSchedule = { name: string; cron: string; tz: string; owner: string; project: string; nextAt: number | null };

/** The commit has the files of the session's last checkpoint, on top of the commit that the project had when it was sent. */
export type PulledFiles = { session: string; ref: string; commit: string; parent: string | null; files: number; leftOut: string[] };
