// Conformance of every store: imports, which bring their own ids and times.
import { expect, test } from "bun:test";
import type { ImportedNode, ImportedTurn } from "../../protocol/tree/import.ts";
import type { Source } from "../../protocol/tree/turn.ts";
import { newSession } from "../fixtures/samples.ts";
import type { Store } from "../store.ts";

const source: Source = { agent: "pi", nativeId: "native", path: "/f", sha256: "0", tip: null };
const ids = Array.from({ length: 9 }, () => Bun.randomUUIDv7());
const timeOf = (n: number) => Date.UTC(2020, 0, 1, 0, 0, n);

const turn: ImportedTurn = {
  id: ids[2]!,
  session: ids[0]!,
  parent: null,
  agent: "pi",
  model: "a/b",
  nativeId: null,
  policy: { name: "full", sandbox: "off", net: "on", allowWrite: [], addDirs: [] },
  enforced: null,
  startedAt: timeOf(1),
  endedAt: timeOf(3),
  status: "ok",
  error: null,
};

function nodeAt(n: number, parent: number | null, more: Partial<ImportedNode> = {}): ImportedNode {
  const position = { id: ids[n]!, parent: parent === null ? null : ids[parent]!, session: ids[0]!, turn: turn.id, at: timeOf(n) };
  return { author: "user", parts: [{ kind: "text", text: `node ${n}` }], ...position, ...more };
}

const batch = (nodes: ImportedNode[]) => ({ nodes, turns: [turn], lastNodesOfTurns: new Set([nodes.at(-1)!.id]), source });

export function describeImports(open: () => Store): void {
  async function begin() {
    const store = open();
    const session = await store.importSession({ ...newSession(), id: ids[0]!, forkedFrom: null, createdAt: timeOf(0), source }, ids[1]!);
    return { store, session, lease: await store.acquire(session.id) };
  }

  test("imported nodes keep ids, times, branches and source, and move no tip", async () => {
    const { store, session, lease } = await begin();
    const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
    const nodes = [nodeAt(3, null), nodeAt(4, 3, { author: "agent", usage, costUsd: 0.5 }), nodeAt(5, 3)];
    expect(await store.importNodes(lease, batch(nodes))).toBe(3);
    expect(await store.path(ids[4]!)).toMatchObject([
      { id: ids[3], at: timeOf(3), parent: null },
      { id: ids[4], at: timeOf(4), parent: ids[3] },
    ]);
    expect((await store.children(ids[3]!)).length).toBe(2);
    expect(await store.session(session.id)).toMatchObject({ id: ids[0], tree: ids[1], tip: null, createdAt: timeOf(0), source });
    expect(await store.turnsOf(session.id)).toMatchObject([
      { id: turn.id, status: "ok", startedAt: timeOf(1), usage, costUsd: 0.5, steps: 1, source },
    ]);
    const events = await store.events(session.id, 0);
    expect(events.map((event) => event.type)).toEqual(["turn.started", "node.added", "node.added", "node.added", "turn.ended"]);
    await store.release(lease);
    expect((await store.verify({})).problems).toEqual([]);
    expect(await store.search("node 5", { project: null, limit: 5 })).toHaveLength(1);
  });

  test("an import adds a node once, and extends a turn that grew", async () => {
    const { store, session, lease } = await begin();
    await store.importNodes(lease, batch([nodeAt(3, null)]));
    expect(await store.importNodes(lease, batch([nodeAt(3, null), nodeAt(4, 3)]))).toBe(1);
    expect(await store.importNodes(lease, batch([nodeAt(3, null), nodeAt(4, 3)]))).toBe(0);
    expect(await store.turnsOf(session.id)).toMatchObject([{ id: turn.id, tip: ids[4] }]);
    expect(await store.storedNodes([ids[3]!, ids[4]!, ids[8]!])).toEqual({ stored: new Set([ids[3]!, ids[4]!]), tree: ids[1]! });
    expect((await store.importedSession("pi", "native"))?.id).toBe(session.id);
    expect(await store.importedSession("codex", "native")).toBeNull();
  });

  test("an import batch is written completely or not at all, and only under a lease", async () => {
    const { store, lease } = await begin();
    const orphanError = await store.importNodes(lease, batch([nodeAt(3, null), nodeAt(4, 8)])).catch((error: Error) => error.message);
    expect(orphanError).toContain("not in this tree");
    expect(await store.node(ids[3]!)).toBeNull();
    await store.release(lease);
    const lostCode = await store.importNodes(lease, batch([nodeAt(3, null)])).catch((error: Error & { code: string }) => error.code);
    expect(lostCode).toBe("lease-lost");
  });

  test("an imported output keeps its identifier in its own session, and only there", async () => {
    const { store, session, lease } = await begin();
    const handle = { source: "bash", sourceVersion: "1", identifier: `${session.id}/7`, metadata: {} };
    const bytes = Buffer.from("whole");
    expect(await store.importOutput(lease, { handle, call: "c", bytes })).toBe(true);
    expect(await store.importOutput(lease, { handle, call: "c", bytes })).toBe(false);
    expect(await store.importOutput(lease, { handle: { ...handle, identifier: `${ids[8]}/1` }, call: "c", bytes })).toBe(false);
    expect(await store.importOutput(lease, { handle: { ...handle, identifier: "../../x" }, call: "c", bytes })).toBe(false);
    expect(await new Response(await store.readOutput(handle.identifier)).text()).toBe("whole");
    await store.release(lease);
    expect((await store.verify({})).problems).toEqual([]);
  });
}
