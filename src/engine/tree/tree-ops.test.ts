// A session's task follows the first node of its path.
import { expect, test } from "bun:test";
import { createTestEngine, node, ok, text } from "../fixtures/engine-with.ts";

test("a session's task is the first prompt of its path, also after a move, and null before the first node", async () => {
  const { api, run, session } = await createTestEngine(async function* () {
    yield node(text("hi"));
    yield ok;
  });
  const { fork, move, list } = api.session;
  const taskOf = async (id: string) => (await list({ project: null })).find((listed) => listed.id === id)?.task;
  await run({ prompt: "the first" });
  const { id, tip } = await fork({ session: session.id, at: null, name: null });
  expect(await taskOf(id)).toBe("t");

  expect((await move({ session: id, node: null })).task).toBeNull();
  const [started] = await run({ session: id, prompt: "the second" });
  expect(started).toMatchObject({ type: "turn.started", session: { task: "the second" } });
  await run({ session: id, prompt: "and more" });
  expect(await taskOf(id)).toBe("the second");
  expect(await taskOf(session.id)).toBe("t");

  expect((await fork({ session: id, at: tip, name: null })).task).toBe("the first");
  expect((await move({ session: id, node: tip })).task).toBe("the first");

  await move({ session: id, node: null });
  await api.node.add({ session: id, text: "by hand" });
  expect(await taskOf(id)).toBe("by hand");
});
