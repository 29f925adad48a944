import { expect, test } from "bun:test";
import type { Snapshots } from "../../protocol/api/ports.ts";
import { shortId, type NewNode } from "../../protocol/tree/node.ts";
import { newTurn } from "../../store/fixtures/samples.ts";
import { call, createTestEngine, node, ok, text } from "../fixtures/engine-with.ts";
import { maxCallDelayMs } from "./file-recorder.ts";

const result = (id: string): NewNode => ({
  author: "tool",
  parts: [{ kind: "result", call: id, name: "bash", text: "done", isError: false }],
});

/** Snapshots of a project that is not in memory. */
function snapshotsOf(take: () => Promise<string>): Snapshots {
  const read = async () => ({ id: await take(), stored: null });
  return { take, read, isFast: async () => false, save: async () => {} } as Partial<Snapshots> as Snapshots;
}

test("a call waits for a late snapshot only for a limited time, and the nearest known nodes are named instead", async () => {
  const late = Promise.withResolvers<string>();
  // The files before the turn, after the first call, after the second call, and at the end.
  const states: (string | Promise<string>)[] = ["s1", late.promise, "s3", "s3"];
  const snapshots = snapshotsOf(async () => states.shift()!);
  const clock = {
    now: () => 0,
    setTimer: (ms: number, onDue: () => void) => {
      if (ms === maxCallDelayMs) queueMicrotask(onDue);
      return () => {};
    },
  };
  const { api, store, session, run, root } = await createTestEngine(
    async function* () {
      for (const id of ["c1", "c2"]) {
        yield node(call(id));
        yield node(result(id));
      }
      late.resolve("too late");
      yield node(text("done"));
      yield ok;
    },
    { snapshots, clock },
  );
  await run();
  const [, first, unknown, , second] = await store.sessionPath(session.id);
  const turns = [...new Set([first!.turn!])];
  expect((await store.turnRecords(turns)).map(({ before, after }) => [before, after])).toEqual([
    ["s1", null],
    [null, "s3"],
  ]);
  const nearest = `${shortId(first!.id)} before it and ${shortId(second!.id)} after it`;
  await expect(api.files.diff({ from: unknown!.id, to: null, directory: root })).rejects.toThrow(nearest);
});

test("a process that is killed between a call and its snapshot leaves a node with unknown files", async () => {
  const snapshots = snapshotsOf(async () => "s2");
  const { api, store, session, run, root } = await createTestEngine(
    async function* () {
      yield node(text("done"));
      yield ok;
    },
    { snapshots },
  );
  const lease = await store.acquire(session.id);
  const { value: killed } = await store.startTurn(lease, newTurn());
  const { value: first } = await store.appendNode(lease, killed.id, call("c1"));
  const calls = { first: first.id, last: null, after: null, paths: null, startedAt: 1, endedAt: null };
  await store.saveTurnFiles(lease, killed.id, { project: root, before: "s1", after: null });
  await store.saveCallFiles(lease, killed.id, { ...calls, project: root, before: "s1" });
  await store.release(lease);
  await run();
  const interrupted = (await store.sessionPath(session.id)).find(({ author }) => author === "tool");
  const nearest = `are not known: they were not recorded there; the nearest nodes with known files are ${shortId(first.id)} before it`;
  await expect(api.files.diff({ from: interrupted!.id, to: null, directory: root })).rejects.toThrow(nearest);
});
