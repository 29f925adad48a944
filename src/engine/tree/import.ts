// Imports a transcript: skips stored nodes, writes the others in small batches under a lease, and moves the tip unless
// the user has moved it. `deps.readTranscript` parses the file.
import { yieldToEventLoop } from "../../kit/flow/time-slice.ts";
import { cutText } from "../../kit/text/cut-text.ts";
import type { TranscriptImportParams } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { ImportedNode, ImportedSession, ImportedTree, ImportReport } from "../../protocol/tree/import.ts";
import { maxResultBytes, type Part } from "../../protocol/tree/node.ts";
import { isSessionName } from "../../protocol/api/session-name.ts";
import type { Session, Source } from "../../protocol/tree/turn.ts";
import type { Lease, Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { Recorder } from "../record/recorder.ts";
import { recover } from "../record/recover.ts";
import { openTranscript, TurnTranscript } from "../record/transcripts.ts";
import { leavesOf } from "./tree-ops.ts";

export async function importTranscript(deps: EngineDeps, params: TranscriptImportParams): Promise<ImportReport> {
  const parsed = await deps.readTranscript(params.from, params.format);
  return importTree({ deps, store: await deps.store(), parsed, params, parentSession: null });
}

/** Imports the tree, and then those of its sub-sessions. */
async function importTree(ctx: ImportContext): Promise<ImportReport> {
  const { store, parsed, params } = ctx;
  const { stored, tree } = await store.storedNodes(parsed.nodes.map((node) => node.id));
  await refuseUnconnected(store, parsed, stored);
  const fresh = parsed.nodes.filter((node) => !stored.has(node.id));
  const sessions = await findOrCreateSessions(ctx, tree);
  const main = sessions.get(parsed.main)!;
  if (params.name !== null && main.name !== params.name) await store.updateSession(main.id, { name: params.name });
  const source: Source = {
    agent: parsed.format,
    nativeId: parsed.nativeId,
    path: "path" in params.from ? params.from.path : null,
    sha256: parsed.sha256,
    tip: null,
  };
  const placed = fresh.map((node) => ({ ...node, session: (sessions.get(node.session) ?? main).id }));
  const added = await writeNodes(ctx, placed, source);
  for (const imported of parsed.sessions)
    await moveTip(ctx, sessions.get(imported.id)!, { imported, source, hasNewNodes: fresh.length > 0 });
  const nodes = { added, known: parsed.nodes.length - added };
  let turns = new Set(fresh.map((node) => node.turn)).size;
  for (const child of parsed.subSessions ?? []) {
    const report = await importTree({ ...ctx, parsed: child, params: { ...params, name: null }, parentSession: main.id });
    nodes.added += report.nodes.added;
    nodes.known += report.nodes.known;
    turns += report.turns;
  }
  return {
    session: await store.requireSession(main.id),
    format: parsed.format,
    nodes,
    turns,
    branches: leavesOf(parsed.nodes).length,
    unreadable: parsed.unreadable,
    torn: parsed.isCutOff,
  };
}

/** The transcript of a fork does not repeat the nodes before the fork, so those must already be stored. */
async function refuseUnconnected(store: Store, parsed: ImportedTree, stored: Set<string>): Promise<void> {
  const inFile = new Set<string>();
  for (const { id, parent } of parsed.nodes) {
    inFile.add(id);
    if (parent === null || inFile.has(parent) || stored.has(parent)) continue;
    if ((await store.node(parent)) !== null) continue;
    throw new Fault("node-unknown", `the transcript continues node ${parent}, which is neither in it nor stored`, {
      hint: "first import the session that this one was forked from, or export the whole tree: skein export --format jsonl",
    });
  }
}

type ImportContext = {
  deps: EngineDeps;
  store: Store;
  parsed: ImportedTree;
  params: TranscriptImportParams;
  /** The session that started this one; null for the main session of the file. */
  parentSession: string | null;
};

/** The sessions by their ids in the file. A stored session stays as it is. */
async function findOrCreateSessions(ctx: ImportContext, storedTree: string | null): Promise<Map<string, Session>> {
  const { store, parsed } = ctx;
  const sessions = new Map<string, Session>();
  let tree = storedTree ?? (await parentTree(store, parsed));
  for (const imported of parsed.sessions) {
    const isMain = imported.id === parsed.main;
    const existing = (await store.session(imported.id)) ?? (isMain ? await store.importedSession(parsed.format, parsed.nativeId) : null);
    if (existing !== null && (tree === null || existing.tree === tree)) sessions.set(imported.id, existing);
    tree ??= existing?.tree ?? null;
  }
  for (const imported of parsed.sessions) {
    if (sessions.has(imported.id)) continue;
    const session = await createImported(ctx, imported, tree ?? parsed.tree);
    tree ??= session.tree;
    sessions.set(imported.id, session);
  }
  return sessions;
}

async function parentTree(store: Store, parsed: ImportedTree): Promise<string | null> {
  const parent = parsed.nodes[0]?.parent ?? null;
  return parent === null ? null : ((await store.node(parent))?.tree ?? null);
}

async function createImported(
  { deps, store, parsed, params, parentSession }: ImportContext,
  imported: ImportedSession,
  tree: string | null,
): Promise<Session> {
  const project = deps.projectOf(params.directory);
  const isMain = imported.id === parsed.main;
  const agent = deps.agents.some((candidate) => candidate.name === imported.agent) ? imported.agent : "native";
  const { id, model, task, toolLevel, forkedFrom, createdAt, plan } = imported;
  const transcript = await deps.transcriptFor({ id, project, transcriptDir: null, createdAt });
  const location = { directory: params.directory, project, parentSession: isMain ? parentSession : null, forkedFrom, transcript };
  const source: Source = { agent: parsed.format, nativeId: isMain ? parsed.nativeId : id, path: null, sha256: parsed.sha256, tip: null };
  const session = { id, agent, model, task, toolLevel, createdAt, ...location, plan, source };
  if (isMain && params.name !== null) return store.importSession({ ...session, name: params.name }, tree);
  const name = imported.name !== null && isSessionName(imported.name) ? imported.name : null;
  try {
    return await store.importSession({ ...session, name }, tree);
  } catch (error) {
    // The name in the file is dropped if another session has it.
    if (!(error instanceof Fault) || error.code !== "session-exists" || name === null) throw error;
    return store.importSession({ ...session, name: null }, tree);
  }
}

const batchSize = 200;

/** Writes nodes in the order of the file, so that a parent is stored before its children. A batch has one session. */
async function writeNodes({ deps, store, parsed }: ImportContext, fresh: ImportedNode[], source: Source): Promise<number> {
  const lastNodesOfTurns = new Set(new Map(fresh.map((node) => [node.turn, node.id])).values());
  const turns = new Map(parsed.turns.map((turn) => [turn.id, turn]));
  const leases = new Map<string, Lease>();
  let added = 0;
  try {
    for (const id of new Set(fresh.map((node) => node.session))) leases.set(id, await acquireRepaired(deps, store, id));
    for (let from = 0; from < fresh.length;) {
      const { session } = fresh[from]!;
      let to = from;
      while (to < fresh.length && to - from < batchSize && fresh[to]!.session === session) to += 1;
      const lease = leases.get(session)!;
      const nodes = await Promise.all(fresh.slice(from, to).map((node) => importOutputs(store, lease, node)));
      const used = new Set(nodes.map((node) => node.turn));
      added += await store.importNodes(lease, {
        nodes,
        turns: [...turns.values()].filter((turn) => used.has(turn.id)),
        lastNodesOfTurns,
        source,
      });
      from = to;
      await yieldToEventLoop();
    }
  } finally {
    for (const lease of leases.values()) await store.release(lease);
  }
  return added;
}

/** Takes the lease and repairs an interrupted turn of the session. */
async function acquireRepaired(deps: EngineDeps, store: Store, id: string): Promise<Lease> {
  const lease = await store.acquire(id);
  if ((await store.openTurns(id)).length === 0) return lease;
  const file = await openTranscript(deps, store, await store.requireSession(id));
  const transcript = new TurnTranscript(file, deps.warn);
  try {
    await recover(store, new Recorder(store, lease, transcript, () => {}), id);
    return lease;
  } finally {
    transcript.close();
  }
}

async function importOutputs(store: Store, lease: Lease, node: ImportedNode): Promise<ImportedNode> {
  for (const output of node.outputs ?? []) await store.importOutput(lease, output);
  return { ...node, parts: await Promise.all(node.parts.map((part) => moveLongResultToOutput(store, lease, part))) };
}

/**
 * Results of other programs have no size limit. A long one is stored like the output of `bash`, so that the node stays small
 * and a model can read the whole text.
 */
async function moveLongResultToOutput(store: Store, lease: Lease, part: Part): Promise<Part> {
  // A UTF-16 unit has at most 3 bytes in UTF-8, so most results need no encoding here.
  if (part.kind !== "result" || part.handle !== undefined || part.text.length * 3 <= maxResultBytes) return part;
  const bytes = Buffer.from(part.text);
  if (bytes.length <= maxResultBytes) return part;
  const sink = store.openOutput(lease, part.call, "bash");
  sink.write(bytes);
  const handle = await sink.close({ tool: part.name }, maxResultBytes);
  if (handle === null) return part;
  const cut = cutText(part.text, maxResultBytes, { keep: "both" }).text;
  return { ...part, handle, text: `${cut}\n[whole output, ${bytes.length} bytes: read path "${handle.source}:${handle.identifier}"]` };
}

type TipChange = { imported: ImportedSession; source: Source; hasNewNodes: boolean };

/** Moves the tip to that of the file. A tip that was moved since the last import stays, unless it is on the path to the new tip. */
async function moveTip({ deps, store }: ImportContext, before: Session, { imported, source, hasNewNodes }: TipChange): Promise<void> {
  const session = await store.requireSession(before.id);
  const goal = imported.tip !== null && (await store.node(imported.tip)) !== null ? imported.tip : null;
  const isEmpty = session.tip === null && session.source?.tip === null;
  if (goal !== null && goal !== session.tip && (hasNewNodes || isEmpty) && (await mayMove(store, session, goal))) {
    const sourceUpdate = session.source === undefined ? {} : { source: { ...source, nativeId: session.source.nativeId, tip: goal } };
    await store.updateSession(session.id, { tip: goal, ...sourceUpdate });
  }
  if (!hasNewNodes && !isEmpty) return;
  // Opening the transcript adds the new nodes to its file.
  (await openTranscript(deps, store, session))?.close();
}

async function mayMove(store: Store, session: Session, goal: string): Promise<boolean> {
  if (session.tip === null || session.tip === session.source?.tip) return true;
  return (await store.path(goal)).some((node) => node.id === session.tip);
}
