import { expect, test } from "bun:test";
import { runInSlices } from "./time-slice.ts";

test("what is due comes between two pieces, and the work ends with its result", async () => {
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
