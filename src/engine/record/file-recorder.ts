// Records the project's files around each turn and after each answer with calls that may change them. A snapshot is taken
// while the next answer is awaited. A call waits for it only for a short time; then the files at that node stay unknown.
import { resolve, relative, sep } from "node:path";
import { realPath, resolveLinks } from "../../kit/files/path-status.ts";
import type { Clock } from "../../kit/flow/clock.ts";
import { yieldToEventLoop } from "../../kit/flow/time-slice.ts";
import { toolsByLevel } from "../../protocol/api/policy.ts";
import { fileChangingTools, mayChangeFiles } from "../../protocol/api/tool-table.ts";
import type { CallFiles, FileState } from "../../protocol/tree/file-changes.ts";
import { callsOf, type CallPart, type NewNode, type Node } from "../../protocol/tree/node.ts";
import type { RecordsOfNode } from "../../store/store.ts";
import type { RunningTurn } from "../turn/running-turns.ts";
import type { TurnSnapshots } from "./report-snapshots.ts";

/** A call waits at most 250 ms for the snapshot before it. A timer fires some milliseconds late. */
export const maxCallDelayMs = 240;

/** A model that answers at once has the record of its last calls written with the next one, as one transaction. */
const maxWriteDelayMs = 20;

/** If the next calls begin within this time, one snapshot shows the files after the last calls and before the next. */
const maxSnapshotDelayMs = 2;

export type FileRecorder = {
  /** Records the files before the turn, once. Never rejects. */
  recordBefore: () => Promise<void>;
  /** Call it for each node before it is stored. Returns the records to store with it. */
  beforeNode: (node: NewNode) => Promise<RecordsOfNode | undefined>;
  /** Call it for each stored node. An agent that waits for it does not run the node's calls before their record is open. */
  recordNode: (node: Node) => Promise<void>;
  recordAfter: (mayHaveChanged: boolean) => Promise<void>;
};

type RecordedTurn = Pick<RunningTurn, "params" | "store" | "lease" | "deadline" | "clock">;

type RecorderOptions = {
  project: string;
  directory: string;
  turn: string;
  /** Whether calls wait for `recordNode`. The calls of another agent's CLI do not. */
  canDelayCalls: boolean;
};

/** Calls that run. They end with the result of the last one. */
type OpenCalls = { files: CallFiles; ids: Set<string> };
/** The snapshot after calls. It counts only if no other call has begun before its end. */
type PendingSnapshot = { files: CallFiles; done: Promise<void>; isOver: boolean; isAbandoned: boolean };

/** Records nothing for a turn without tools that change files. */
export function createFileRecorder(snapshots: TurnSnapshots | null, turn: RecordedTurn, options: RecorderOptions): FileRecorder {
  const { command, tools, toolLevel } = turn.params;
  const offered = command === null ? (tools ?? toolsByLevel[toolLevel]) : ["bash"];
  if (snapshots === null || !offered.some((tool) => fileChangingTools.has(tool))) return recordsNothing;
  return new TurnFileRecorder(snapshots, turn, options);
}

const recordsNothing: FileRecorder = {
  recordBefore: async () => {},
  beforeNode: async () => undefined,
  recordNode: async () => {},
  recordAfter: async () => {},
};

class TurnFileRecorder implements FileRecorder {
  readonly #snapshots: TurnSnapshots;
  readonly #turn: RecordedTurn;
  readonly #options: RecorderOptions;
  readonly #stopped: Promise<null>;
  #before: Promise<string | null> | null = null;
  /** Set when the files before the turn are known. Without them nothing else is recorded. */
  #isRecording = false;
  /** The latest known state. */
  #current: FileState = unknownState;
  #open: OpenCalls | null = null;
  #pending: PendingSnapshot | null = null;
  /** Records that have changed. They are written with the next record, or by the timer. */
  readonly #unsaved = new Set<CallFiles>();
  #writeTimer: Timer | null = null;

  constructor(snapshots: TurnSnapshots, turn: RecordedTurn, options: RecorderOptions) {
    this.#snapshots = snapshots;
    this.#turn = turn;
    this.#options = options;
    const { signal } = turn.deadline;
    this.#stopped = new Promise((resolve) => signal.addEventListener("abort", () => resolve(null), { once: true }));
  }

  async recordBefore(): Promise<void> {
    // A failed snapshot has printed a warning. If the store can't be written, the next write of the turn reports it.
    this.#before ??= this.#takeBefore().catch(() => null);
    await this.#before;
  }

  /** With the files in memory, the state before the calls is read so fast that the record can be stored with the node. */
  async beforeNode(node: NewNode): Promise<RecordsOfNode | undefined> {
    const calls = changingCalls(node);
    const open = this.#open;
    if (open !== null && endsCalls(node, open)) return this.#recordsWith(open.files, "last");
    if (calls.length === 0 || open !== null || !this.#isRecording || !(await this.#isFast())) return undefined;
    await this.#settle();
    return this.#recordsWith(this.#openRecord("", calls).files, "first");
  }

  #recordsWith(files: CallFiles, field: "first" | "last"): RecordsOfNode {
    const records = this.#takeUnsaved(files);
    if (field === "last") files.endedAt = Date.now();
    return (id) => {
      files[field] = id;
      return records;
    };
  }

  async recordNode(node: Node): Promise<void> {
    const calls = changingCalls(node);
    if (calls.length > 0) await this.#begin(node, calls);
    for (const part of node.parts) if (part.kind === "result") this.#end(part.call);
  }

  async recordAfter(mayHaveChanged: boolean): Promise<void> {
    const before = await this.#before;
    if (before == null) return;
    const taken = mayHaveChanged ? this.#take() : before;
    await this.#pending?.done;
    const after = await taken;
    // The calls of a stopped turn have no result.
    await this.#save(...(this.#open === null ? [] : [Object.assign(this.#open.files, { after, endedAt: Date.now() })]));
    await this.#turn.store.saveTurnFiles(this.#turn.lease, this.#options.turn, { project: this.#options.project, before, after });
    // The end of the turn does not wait for it.
    void this.#snapshots.save(this.#options.project);
  }

  async #takeBefore(): Promise<string | null> {
    const { project, turn } = this.#options;
    const id = await Promise.race([this.#take(), this.#stopped]);
    if (id !== null) await this.#turn.store.saveTurnFiles(this.#turn.lease, turn, { project, before: id, after: null });
    this.#current = { id, stored: null };
    this.#isRecording = id !== null;
    return id;
  }

  /** Whether calls can wait for a whole snapshot. */
  async #isFast(): Promise<boolean> {
    return this.#options.canDelayCalls && (await this.#snapshots.isFast(this.#options.project));
  }

  #take(): Promise<string | null> {
    return this.#snapshots.take(this.#options.project);
  }

  async #begin(node: Node, calls: CallPart[]): Promise<void> {
    const open = this.#open;
    if (open?.files.first === node.id) return this.#nameBefore(open.files);
    if (open !== null) return this.#join(open, calls);
    if (this.#options.canDelayCalls) await this.recordBefore();
    if (!this.#isRecording) return;
    await this.#settle();
    const { files } = this.#openRecord(node.id, calls);
    this.#nameBefore(files);
    await this.#save(files);
  }

  #openRecord(first: string, calls: CallPart[]): OpenCalls {
    const { id, stored } = this.#current;
    const paths = pathsOf(calls, this.#options);
    const before = stored === null ? id : null;
    const files = { first, last: null, project: this.#options.project, before, after: null, paths, startedAt: Date.now(), endedAt: null };
    return (this.#open = { files, ids: new Set(calls.map((call) => call.id)) });
  }

  #nameBefore(files: CallFiles): void {
    if (this.#current.stored !== null) void this.#name(files, "before", this.#current);
  }

  /** Names the state in the record when it is stored: a process that is killed before must not leave the name of nothing. */
  async #name(files: CallFiles, field: "before" | "after", { id, stored }: FileState): Promise<void> {
    if (stored === null || (await stored)) files[field] = id;
    this.#unsaved.add(files);
    // If the store can't be written, the next write of the turn reports it.
    this.#writeTimer ??= setTimeout(() => void this.#save().catch(() => {}), maxWriteDelayMs);
  }

  /** Another answer with calls, while those of the one before still run. */
  async #join({ files, ids }: OpenCalls, calls: CallPart[]): Promise<void> {
    const paths = pathsOf(calls, this.#options);
    for (const { id } of calls) ids.add(id);
    files.paths = files.paths === null || paths === null ? null : [...files.paths, ...paths];
    await this.#save(files);
  }

  /**
   * Waits for the last snapshot, and takes another one if that is fast: then changes by others since the last call are not
   * credited to the next. Both together take at most `maxCallDelayMs`.
   */
  async #settle(): Promise<void> {
    const limit = startLimit(this.#options.canDelayCalls ? maxCallDelayMs : 0, this.#turn.clock);
    try {
      const pending = this.#pending;
      this.#pending = null;
      const next = (await this.#isFast()) ? this.#snapshots.read(this.#options.project) : null;
      if (pending !== null && !pending.isOver) await Promise.race([pending.done, limit.over]);
      if (pending !== null && !pending.isOver) {
        pending.isAbandoned = true;
        this.#current = unknownState;
        await this.#save(pending.files);
      } else if (next !== null) this.#current = (await Promise.race([next, limit.over])) ?? this.#current;
    } finally {
      limit.cancel();
    }
  }

  #end(call: string): void {
    const open = this.#open;
    if (open === null || !open.ids.delete(call) || open.ids.size > 0) return;
    this.#open = null;
    const pending: PendingSnapshot = { files: open.files, done: Promise.resolve(), isOver: false, isAbandoned: false };
    // A failed snapshot leaves the record without `after`: the files at that node are then unknown.
    pending.done = this.#takeAfter(pending).catch(() => {});
    this.#pending = pending;
  }

  async #takeAfter(pending: PendingSnapshot): Promise<void> {
    // In both cases the agent sends its next request first.
    const isFast = await this.#isFast();
    if (!isFast) await yieldToEventLoop();
    const after = await this.#snapshots.read(this.#options.project, isFast ? maxSnapshotDelayMs : 0);
    if (pending.isAbandoned) return;
    this.#current = after;
    pending.isOver = true;
    await this.#name(pending.files, "after", after);
  }

  /** The records to write now. */
  #takeUnsaved(...records: CallFiles[]): CallFiles[] {
    if (this.#writeTimer !== null) clearTimeout(this.#writeTimer);
    this.#writeTimer = null;
    const all = [...new Set([...this.#unsaved, ...records])];
    this.#unsaved.clear();
    return all;
  }

  async #save(...records: CallFiles[]): Promise<void> {
    const all = this.#takeUnsaved(...records);
    if (all.length > 0) await this.#turn.store.saveCallFiles(this.#turn.lease, this.#options.turn, ...all);
  }
}

const unknownState: FileState = { id: null, stored: null };

function changingCalls(node: NewNode): CallPart[] {
  return callsOf(node).filter(({ name }) => mayChangeFiles(name));
}

/** Whether the node has the last results of the calls. */
function endsCalls({ parts }: NewNode, { ids }: OpenCalls): boolean {
  const ended = new Set(parts.flatMap((part) => (part.kind === "result" ? part.call : [])));
  return ended.size > 0 && [...ids].every((id) => ended.has(id));
}

function startLimit(ms: number, clock: Clock): { over: Promise<null>; cancel: () => void } {
  const { promise, resolve } = Promise.withResolvers<null>();
  if (ms === 0) resolve(null);
  const cancel = ms === 0 ? () => {} : clock.setTimer(ms, () => resolve(null));
  return { over: promise, cancel };
}

/** The only files that the calls can change, relative to the project, one character for each byte; null if they can change any. */
function pathsOf(calls: CallPart[], { project, directory }: RecorderOptions): string[] | null {
  const root = realPath(project) ?? project;
  const paths: string[] = [];
  for (const { name, input } of calls) {
    // A sub-session records its own calls.
    if (name === "spawn_session") continue;
    const path = input["path"];
    if (!(name === "write" || name === "edit") || typeof path !== "string" || path.startsWith("~")) return null;
    const inProject = relative(root, resolveLinks(resolve(directory, path)));
    if (inProject !== ".." && !inProject.startsWith(`..${sep}`)) paths.push(Buffer.from(inProject).toString("latin1"));
  }
  return paths;
}
