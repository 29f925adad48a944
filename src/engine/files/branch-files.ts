// The file changes of a branch: those that its own turns made, and those that others made meanwhile.
import type { Snapshots } from "../../protocol/api/ports.ts";
import { mayChangeFiles } from "../../protocol/api/tool-table.ts";
import type { FileChange, FileRecord, OtherChange } from "../../protocol/tree/file-changes.ts";
import { callsOf, type Node } from "../../protocol/tree/node.ts";
import type { Store } from "../../store/store.ts";
import { fileHistory, joinChanges, type CreditedChange } from "./file-history.ts";
import { describeOthers } from "./other-changes.ts";

export type BranchFiles = {
  project: string | null;
  /** Made by the branch's own turns. */
  changes: FileChange[];
  patch: string;
  /** Made by a person or by other sessions, between the first and the last call of the branch. */
  others: OtherChange[];
  /** Number of answers with calls whose files are not known. */
  unknown: number;
};

const nothing: BranchFiles = { project: null, changes: [], patch: "", others: [], unknown: 0 };

/** The branch is `path` from index `start` on. Null if its calls were not recorded. */
export async function branchFiles(
  store: Store,
  snapshots: Snapshots | null,
  branch: { path: Node[]; start: number },
): Promise<BranchFiles | null> {
  const records = await recordsOf(store, branch.path, branch.start);
  const { own } = records;
  const unrecorded = unrecordedAnswers(branch.path.slice(branch.start), own);
  if (own.length === 0 || snapshots === null) return unrecorded > 0 ? null : nothing;
  const { project, ownChanges, others } = await creditedChanges(store, snapshots, records);
  const described = await snapshots.describe(project, joinChanges(ownChanges));
  const unknown = unrecorded + own.filter(({ after, endedAt }) => after === null && endedAt !== null).length;
  return { project, ...described, others: await describeOthers(store, snapshots, project, others), unknown };
}

/** Changes in the project of the last record: those of the branch, and those of others at the same time. */
export async function creditedChanges(store: Store, snapshots: Snapshots, { own, shared }: PathRecords) {
  const project = own.at(-1)!.project;
  const ownHere = own.filter((record) => record.project === project);
  const previous = shared.findLast((record) => record.project === project && record.endedAt !== null);
  const from = previous?.endedAt ?? ownHere[0]!.startedAt;
  const to = Math.max(...ownHere.map(({ endedAt }) => endedAt ?? Date.now()));
  const start = (previous === undefined ? ownHere[0]!.before : previous.after) ?? null;
  const history = await fileHistory(store, snapshots, { project, from, to, start });
  const isOwn = await ownership(store, ownHere);
  return { project, ownChanges: history.filter(isOwn), others: history.filter((change) => !isOwn(change)) };
}

type PathRecords = { own: FileRecord[]; shared: FileRecord[] };

export async function recordsOf(store: Store, path: Node[], start: number): Promise<PathRecords> {
  const turns = [...new Set(path.flatMap(({ turn }) => (turn === null ? [] : [turn])))];
  const records = await store.turnRecords(turns);
  const positions = new Map(path.map(({ id }, index) => [id, index]));
  const firstOfTurn = new Map(path.map(({ turn }, index) => [turn, index] as const).toReversed());
  // A record for all calls of a turn belongs to a branch only if the branch has the whole turn.
  const position = ({ first, last, turn }: FileRecord) =>
    first === null ? firstOfTurn.get(turn) : (positions.get(last ?? "") ?? positions.get(first));
  const onPath = records.filter((record) => position(record) !== undefined && isWhole(record, positions));
  return { own: onPath.filter((record) => position(record)! >= start), shared: onPath.filter((record) => position(record)! < start) };
}

/** Whether the path contains the end of the record: a fork at the node with the calls has none of their changes. */
function isWhole({ last }: FileRecord, positions: Map<string, number>): boolean {
  return last === null || positions.has(last);
}

/** Answers with calls that may have changed files, in turns without a record. */
export function unrecordedAnswers(nodes: Node[], own: FileRecord[]): number {
  const recorded = new Set(own.map(({ turn }) => turn));
  const isUnrecorded = ({ turn }: Node) => turn !== null && !recorded.has(turn);
  return nodes.filter((node) => isUnrecorded(node) && callsOf(node).some(({ name }) => mayChangeFiles(name))).length;
}

/** Sub-sessions work for the call that spawned them, so their changes belong to the branch too. */
export async function ownership(store: Store, own: FileRecord[]): Promise<(change: CreditedChange) => boolean> {
  const keys = new Set(own.map(keyOf));
  const sessions = [...new Set(own.map(({ session }) => session))];
  const below = new Set((await Promise.all(sessions.map((session) => store.subSessions(session)))).flat().map(({ session }) => session));
  const spawning = own.filter(({ paths }) => paths === null || paths.length === 0);
  const isDelegated = (record: FileRecord): boolean =>
    below.has(record.session) &&
    spawning.some(({ startedAt, endedAt }) => startedAt <= record.startedAt && (record.endedAt ?? Infinity) <= (endedAt ?? Infinity));
  return ({ writers, isUncertain }) => {
    const [writer, ...more] = writers;
    return writer !== undefined && more.length === 0 && !isUncertain && (keys.has(keyOf(writer)) || isDelegated(writer));
  };
}

function keyOf({ first, turn }: FileRecord): string {
  return first ?? turn;
}
