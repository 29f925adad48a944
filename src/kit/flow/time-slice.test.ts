import { expect, test } from "bun:test";
import { runInSlices } from "./time-slice.ts";

test("due callbacks run between two slices, and the result of the work is returned", async () => {
  const order: string[] = [];
  setImmediate(() => order.push("due"));
  function* work(): Generator<undefined, string> {
    order.push("first");
    yield;
    order.push("second");
    return "done";
  }
  expect(await runInSlices(work())).toBe("done");
  expect(order).toEqual(["first", "due", "second"]);
});
