// Conformance of every store: whole outputs and search.
import { expect, test } from "bun:test";
import { beginTurn, faultCode } from "../fixtures/begin-turn.ts";
import { agentNode, okTurnEnd, sampleNodes } from "../fixtures/samples.ts";
import type { Store } from "../store.ts";

export function describeOutputs(store: () => Store): void {
  const readAll = async (identifier: string) => new Uint8Array(await new Response(await store().readOutput(identifier)).arrayBuffer());

  test("a small output stays in its node", async () => {
    const { lease } = await beginTurn(store());
    const output = store().openOutput(lease, "c1", "bash");
    output.write(new TextEncoder().encode("few words"));
    expect(await output.close({ command: "echo" }, 32_768)).toBeNull();
  });

  test("5 MB of binary output are returned unchanged", async () => {
    const { session, lease } = await beginTurn(store());
    const bytes = new Uint8Array(5 << 20).map((_, index) => (index * 31) % 256);
    const output = store().openOutput(lease, "c1", "bash");
    for (let start = 0; start < bytes.length; start += 10_007) output.write(bytes.subarray(start, start + 10_007));
    const handle = await output.close({ command: "cat", exitCode: 0, durationMs: 3 }, 32_768);
    expect(handle).toMatchObject({
      source: "bash",
      identifier: `${session.id}/1`,
      metadata: { command: "cat", exitCode: 0, bytes: bytes.length, keptBytes: bytes.length },
    });
    expect(handle!.metadata.sha256).toBe(new Bun.CryptoHasher("sha256").update(bytes).digest("hex"));
    expect(Buffer.compare(await readAll(handle!.identifier), bytes)).toBe(0);
  });

  test("outputs of parallel calls get different numbers, also if some need no file in the end", async () => {
    const { lease } = await beginTurn(store());
    const outputs = [1, 2, 3].map((call) => store().openOutput(lease, `c${call}`, "bash"));
    for (const output of outputs) output.write(new Uint8Array(40_000).fill(66));
    const inline = await outputs[0]!.close({}, 64_000);
    const handles = await Promise.all(outputs.slice(1).map((output) => output.close({}, 1000)));
    expect(inline).toBeNull();
    const small = store().openOutput(lease, "c4", "bash");
    small.write(new Uint8Array(2000).fill(67));
    handles.push(await small.close({}, 1000));
    expect(new Set(handles.map((handle) => handle?.identifier)).size).toBe(3);
    expect((await readAll(handles[2]!.identifier)).length).toBe(2000);
  });

  test("reading an unknown output is refused", async () => {
    for (const name of ["x/1", "../../etc/passwd", "", "x"]) expect(await faultCode(store().readOutput(name))).toBe("file-unreadable");
  });

  test("an output that can't be stored fails when it is closed, not while it is written", async () => {
    const { lease } = await beginTurn(store());
    const output = store().openOutput(lease, "c1", "bash");
    await store().release(lease);
    for (let index = 0; index < 3; index++) output.write(new Uint8Array(40_000));
    expect(await faultCode(output.close({}, 1))).toBe("lease-lost");
  });

  test("an output can't be stored under a lost lease", async () => {
    const { lease } = await beginTurn(store());
    const output = store().openOutput(lease, "c1", "bash");
    output.write(new Uint8Array(10));
    await store().release(lease);
    expect(await faultCode(output.close({}, 1))).toBe("lease-lost");
  });
}

export function describeSearch(store: () => Store): void {
  test("search finds words in every part of a node, also in a turn that never ended", async () => {
    const { session, lease, turn } = await beginTurn(store());
    for (const node of sampleNodes) await store().appendNode(lease, turn.id, node);
    const authorsOf = async (query: string) => (await store().search(query, { project: null, limit: 10 })).map((hit) => hit.node.author);
    expect(await authorsOf("GROSSER")).toEqual([]);
    expect(await authorsOf("größer")).toEqual(["user"]);
    expect(await authorsOf("grosser OR größer")).toEqual([]);
    expect(await authorsOf("bad arg")).toEqual(["tool"]);
    expect(await authorsOf('"arguments bad"')).toEqual([]);
    expect(await authorsOf("bash ls")).toEqual(["agent"]);
    expect(await authorsOf("summ")).toEqual(["note"]);
    const [hit] = await store().search("arguments", { project: "/project", limit: 10 });
    expect(hit).toMatchObject({ session: session.id, snippet: "a\nb\nbad arguments", marks: [[8, 17]] });
    expect(await store().search("arguments", { project: "/other", limit: 10 })).toEqual([]);
  });

  test("search returns the better match first, within the limit", async () => {
    const { lease, turn } = await beginTurn(store());
    await store().appendNode(lease, turn.id, agentNode(`needle ${"hay ".repeat(200)}`));
    const best = (await store().appendNode(lease, turn.id, agentNode("needle needle"))).value;
    await store().endTurn(lease, turn.id, okTurnEnd);
    const hits = await store().search("needle", { project: null, limit: 1 });
    expect(hits.map((hit) => hit.node.id)).toEqual([best.id]);
  });

  test("no search query is an error", async () => {
    const { lease, turn } = await beginTurn(store());
    await store().appendNode(lease, turn.id, agentNode('a "b" c AND d'));
    for (const query of [
      "",
      " ",
      '"',
      '"a',
      'a"b',
      "*",
      "^a",
      "a*",
      "NEAR(a b)",
      "AND",
      "a AND",
      "col:a",
      "-a",
      "(",
      "a)b",
      "'",
      "\0",
      "{a}",
      "+",
      "a+b",
      "é\ud800",
    ]) {
      expect(Array.isArray(await store().search(query, { project: null, limit: 5 }))).toBe(true);
    }
  });

  test("verify finds no problem in an intact store", async () => {
    const { lease, turn } = await beginTurn(store());
    for (const node of sampleNodes) await store().appendNode(lease, turn.id, node);
    await store().endTurn(lease, turn.id, okTurnEnd);
    await store().search("a", { project: null, limit: 1 });
    let checked = 0;
    const report = await store().verify({ onProgress: (count) => (checked = count) });
    expect(report).toEqual({ sessions: 1, nodes: sampleNodes.length + 1, turns: 1, handles: 0, transcripts: 0, problems: [] });
    expect(checked).toBeGreaterThan(0);
  });
}
