// Conformance of every store: descriptions of sessions, and hits that were shown.
import { expect, test } from "bun:test";
import { beginTurn, faultCode } from "../fixtures/begin-turn.ts";
import { agentNode } from "../fixtures/samples.ts";
import type { Store } from "../store.ts";

export function describeHistory(store: () => Store): void {
  test("a description is returned for its request until the session changes", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const stamp = await store().sessionStamp(session.id);
    await store().saveDescription(session.id, "a", { stamp, body: "one" });
    await store().saveDescription(session.id, "b", { stamp, body: "two" });
    await store().saveDescription(session.id, "a", { stamp, body: "three" });
    expect([await store().description(session.id, "a"), await store().description(session.id, "b")]).toEqual(["three", "two"]);
    await store().appendNode(lease, turn.id, agentNode("more"));
    expect(await store().sessionStamp(session.id)).not.toBe(stamp);
    expect(await store().description(session.id, "a")).toBeNull();
    await store().saveDescription(session.id, "a", { stamp, body: "late" });
    expect(await store().description(session.id, "a")).toBeNull();
  });

  test("moving the tip outdates a description, and only existing sessions can be described", async () => {
    const { session } = await beginTurn(store());
    const stamp = await store().sessionStamp(session.id);
    await store().updateSession(session.id, { tip: null });
    expect(await store().sessionStamp(session.id)).not.toBe(stamp);
    expect(await faultCode(store().saveDescription("unknown", "a", { stamp, body: "x" }))).toBe("session-unknown");
  });

  test("shown hits are recorded for each asker until they are old", async () => {
    const before = Date.now();
    await store().recordShownHits("one", ["a", "b"], 0);
    await store().recordShownHits("one", ["b", "c"], 0);
    await store().recordShownHits("two", ["a"], 0);
    expect([...(await store().shownHits("one", before))].toSorted()).toEqual(["a", "b", "c"]);
    expect([...(await store().shownHits("two", before))]).toEqual(["a"]);
    expect((await store().shownHits("one", Date.now() + 1_000)).size).toBe(0);
    await store().recordShownHits("two", ["d"], Date.now() + 1_000);
    expect((await store().shownHits("one", 0)).size).toBe(0);
    expect([...(await store().shownHits("two", 0))]).toEqual(["d"]);
  });
}
