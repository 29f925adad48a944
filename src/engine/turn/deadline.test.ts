import { expect, test } from "bun:test";
import { createDeadline } from "./deadline.ts";

test("a limit of more days than a timer can wait does not end the turn at once", async () => {
  const deadline = createDeadline({ timeoutMs: 40 * 86_400_000, idleMs: 40 * 86_400_000 }, null);
  await Bun.sleep(20);
  expect(deadline.reason()).toBeNull();
  deadline.clear();
});
