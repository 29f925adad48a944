// Conformance of every store: the snapshots of turns and of their calls.
import { expect, test } from "bun:test";
import type { CallFiles } from "../../protocol/tree/file-changes.ts";
import { beginTurn, faultCode } from "../fixtures/begin-turn.ts";
import { agentNode, newTurn, okTurnEnd } from "../fixtures/samples.ts";
import type { Store } from "../store.ts";

const project = "/p";

export function describeFiles(store: () => Store): void {
  const calls = (first: string, change: Partial<CallFiles> = {}): CallFiles => ({
    first,
    last: null,
    project,
    before: "a",
    after: null,
    paths: null,
    startedAt: 1_000,
    endedAt: null,
    ...change,
  });

  test("the snapshots of a turn are stored while it runs, and returned by turn", async () => {
    const { lease, turn } = await beginTurn(store());
    expect(await store().turnFiles([turn.id])).toEqual(new Map());
    await store().saveTurnFiles(lease, turn.id, { project, before: "a", after: null });
    expect(await store().turnFiles([turn.id, "other"])).toEqual(new Map([[turn.id, { project, before: "a", after: null }]]));
    await store().saveTurnFiles(lease, turn.id, { project, before: "a", after: "b" });
    await store().endTurn(lease, turn.id, okTurnEnd);
    expect(await store().turnFiles([turn.id])).toEqual(new Map([[turn.id, { project, before: "a", after: "b" }]]));
  });

  test("snapshots of calls replace those of the same node, and are returned in order of time", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().saveCallFiles(lease, turn.id, calls("n2", { startedAt: 2_000, paths: ["a", "b"] }));
    await store().saveCallFiles(lease, turn.id, calls("n1"));
    await store().saveCallFiles(lease, turn.id, calls("n1", { last: "n3", after: "b", endedAt: 1_500 }));
    const of = { session: session.id, turn: turn.id };
    expect(await store().turnRecords([turn.id])).toEqual([
      { ...of, ...calls("n1", { last: "n3", after: "b", endedAt: 1_500 }) },
      { ...of, ...calls("n2", { startedAt: 2_000, paths: ["a", "b"] }) },
    ]);
  });

  test("records are stored with a node, and have its id", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().saveCallFiles(lease, turn.id, calls("n1"));
    const { value: node } = await store().appendNode(lease, turn.id, agentNode("calls"), (id) => [
      calls("n1", { last: "n2", after: "b", endedAt: 1_500 }),
      calls(id, { before: null, startedAt: 2_000 }),
    ]);
    const of = { session: session.id, turn: turn.id };
    expect(await store().turnRecords([turn.id])).toEqual([
      { ...of, ...calls("n1", { last: "n2", after: "b", endedAt: 1_500 }) },
      { ...of, ...calls(node.id, { before: null, startedAt: 2_000 }) },
    ]);
  });

  test("a turn without records of calls is one record, unless it changed nothing", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const tip = (await store().appendNode(lease, turn.id, agentNode("done"))).value.id;
    await store().saveTurnFiles(lease, turn.id, { project, before: "a", after: "b" });
    const { value: ended } = await store().endTurn(lease, turn.id, okTurnEnd);
    const { value: quiet } = await store().startTurn(lease, newTurn());
    await store().saveTurnFiles(lease, quiet.id, { project, before: "b", after: "b" });
    const record = {
      session: session.id,
      turn: turn.id,
      first: null,
      last: tip,
      project,
      before: "a",
      after: "b",
      paths: null,
      startedAt: turn.startedAt,
      endedAt: ended.endedAt,
    };
    expect(await store().turnRecords([turn.id, quiet.id])).toEqual([record]);
    expect(await store().projectRecords(project, { from: 0, to: Date.now() })).toEqual([record]);
  });

  test("records of a project are those that overlap the time, of all its sessions", async () => {
    const [one, two] = [await beginTurn(store()), await beginTurn(store())];
    await store().saveCallFiles(one.lease, one.turn.id, calls("n1", { after: "b", endedAt: 1_500 }));
    await store().saveCallFiles(two.lease, two.turn.id, calls("n2", { startedAt: 1_400, after: "c", endedAt: 3_000 }));
    await store().saveCallFiles(two.lease, two.turn.id, calls("n3", { startedAt: 4_000 }));
    await store().saveCallFiles(two.lease, two.turn.id, calls("n4", { startedAt: 2_000, endedAt: 2_500, project: "/q" }));
    const within = async (from: number, to: number) => (await store().projectRecords(project, { from, to })).map(({ first }) => first);
    expect(await within(0, 9_000)).toEqual(["n1", "n2", "n3"]);
    expect(await within(1_600, 2_000)).toEqual(["n2"]);
    expect(await within(8_000, 9_000)).toEqual(["n3"]);
    expect(await within(0, 900)).toEqual([]);
    expect((await store().fileStates("/q")).length).toBeGreaterThan(0);
    const undone = [{ turn: one.turn.id, tip: one.turn.id, back: null, files: { project, from: "u1", to: "u2" } }];
    await store().updateSession(one.session.id, { undone });
    expect(await store().fileStates(project)).toEqual(expect.arrayContaining(["b", "c", "u1", "u2"]));
  });

  test("snapshots can't be written without the lease, or after the end of the turn", async () => {
    const { lease, turn } = await beginTurn(store());
    const stale = { ...lease, epoch: lease.epoch - 1 };
    expect(await faultCode(store().saveTurnFiles(stale, turn.id, { project, before: "a", after: null }))).toBe("lease-lost");
    expect(await faultCode(store().saveCallFiles(stale, turn.id, calls("n1")))).toBe("lease-lost");
    await store().endTurn(lease, turn.id, okTurnEnd);
    expect(await faultCode(store().saveCallFiles(lease, turn.id, calls("n1")))).toBe("internal");
  });

  test("purging a turn deletes its record of snapshots", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().saveTurnFiles(lease, turn.id, { project, before: "a", after: "b" });
    await store().saveCallFiles(lease, turn.id, calls("n1"));
    await store().endTurn(lease, turn.id, okTurnEnd);
    await store().release(lease);
    await store().updateSession(session.id, { archivedAt: 1 });
    await store().purge({ session: session.id, archivedBefore: Date.now(), dryRun: false });
    expect(await store().turnFiles([turn.id])).toEqual(new Map());
    expect(await store().projectRecords(project, { from: 0, to: Date.now() })).toEqual([]);
    await beginTurn(store());
  });
}
