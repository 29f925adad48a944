import { expect, test } from "bun:test";
import { beginTurn, faultCode } from "../../fixtures/begin-turn.ts";
import { okTurnEnd } from "../../fixtures/samples.ts";
import { openStore } from "../sqlite-store.ts";

const project = "/p";

test("the snapshots of a turn are stored while it runs, and returned by turn", async () => {
  const store = await openStore({ path: ":memory:", outputsDir: null });
  const { lease, turn } = await beginTurn(store);
  expect(await store.turnFiles([turn.id])).toEqual(new Map());
  await store.saveTurnFiles(lease, turn.id, { project, before: "a", after: null });
  expect(await store.turnFiles([turn.id, "other"])).toEqual(new Map([[turn.id, { project, before: "a", after: null }]]));
  await store.saveTurnFiles(lease, turn.id, { project, before: "a", after: "b" });
  await store.endTurn(lease, turn.id, okTurnEnd);
  expect(await store.turnFiles([turn.id])).toEqual(new Map([[turn.id, { project, before: "a", after: "b" }]]));
  await store.close();
});

test("the snapshots of a turn can't be written without the lease", async () => {
  const store = await openStore({ path: ":memory:", outputsDir: null });
  const { lease, turn } = await beginTurn(store);
  const stale = { ...lease, epoch: lease.epoch - 1 };
  expect(await faultCode(store.saveTurnFiles(stale, turn.id, { project, before: "a", after: null }))).toBe("lease-lost");
  await store.close();
});

test("purging a turn deletes its record of snapshots", async () => {
  const store = await openStore({ path: ":memory:", outputsDir: null });
  const { session, lease, turn } = await beginTurn(store);
  await store.saveTurnFiles(lease, turn.id, { project, before: "a", after: "b" });
  await store.endTurn(lease, turn.id, okTurnEnd);
  await store.release(lease);
  await store.updateSession(session.id, { archivedAt: 1 });
  await store.purge({ session: session.id, archivedBefore: Date.now(), dryRun: false });
  expect(await store.turnFiles([turn.id])).toEqual(new Map());
  await beginTurn(store);
  await store.close();
});
