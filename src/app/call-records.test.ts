// When the records of calls are stored, with real snapshots.
import { expect, onTestFinished, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, createTestEngine, node, ok, text } from "../engine/fixtures/engine-with.ts";
import { plainGit } from "../files/fixtures/plain-git.ts";
import { createSnapshots } from "../files/snapshots/snapshots.ts";
import type { NewNode } from "../protocol/tree/node.ts";

const result = (id: string): NewNode => ({
  author: "tool",
  parts: [{ kind: "result", call: id, name: "bash", text: "done", isError: false }],
});

test("with files in memory a record is open with the node of its call, and ends with the node of the result", async () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-recorder-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const snapshots = createSnapshots({
    root: directory,
    git: plainGit,
    tooBig: [],
    leaveOut: [directory],
    warn: (text) => expect(text).toBe(""),
  });
  const stored: (string | null)[][] = [];
  const { store, session, run, root } = await createTestEngine(
    async function* ({ turn }, context) {
      await context.keepFiles();
      for (const id of ["c1", "c2"]) {
        const path = await store.sessionPath(session.id);
        yield node(call(id));
        // The files are read, but their content is stored while the command runs.
        stored.push((await store.turnRecords([turn])).map(({ last }) => last));
        writeFileSync(join(root, "file"), `${id} ${path.length}`);
        yield node(result(id));
        stored.push((await store.turnRecords([turn])).map(({ last }) => last));
      }
      yield node(text("done"));
      yield ok;
    },
    { snapshots },
  );
  await run();
  const [, , first, , second] = (await store.sessionPath(session.id)).map(({ id }) => id);
  expect(stored).toEqual([[null], [first!], [first!, null], [first!, second!]]);
  const turns = [(await store.sessionPath(session.id))[0]!.turn!];
  const [one, two] = await store.turnRecords(turns);
  expect(two!.before).toBe(one!.after);
  for (const [record, content] of [
    [one, "c1 1"],
    [two, "c2 3"],
  ] as const) {
    const version = await snapshots.versionOf(root, record!.after!, "file");
    expect((await snapshots.contents(root, [version]))[0]?.toString()).toBe(content);
  }
});
