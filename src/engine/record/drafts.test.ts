import { expect, test } from "bun:test";
import type { Draft } from "../../store/store.ts";
import { createDrafts } from "./drafts.ts";

test("a text is saved by the next event after 100 ms, even if no timer could run", async () => {
  const saved: Draft[] = [];
  const drafts = createDrafts(async (draft) => void saved.push(draft));
  drafts.applyEvent({ type: "text.delta", text: "first " });
  const startedAt = performance.now();
  while (performance.now() - startedAt < 110); // a stream that always has data
  drafts.applyEvent({ type: "text.delta", text: "second" });
  for (let turn = 0; turn < 10 && saved.length === 0; turn += 1) await Promise.resolve();
  expect(saved).toEqual([{ key: "text", text: "first second" }]);
  await drafts.stop();
});
