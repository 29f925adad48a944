import { expect, test } from "bun:test";
import { Fault } from "./error.ts";
import type * as faults from "./error.ts";

test("a fault of another copy of the class is a Fault, as in the two files of the npm bundle", async () => {
  // The query makes a second module, with its own class.
  const copy = (await import(`${import.meta.dir}/error.ts?copy`)) as typeof faults;
  expect(copy.Fault).not.toBe(Fault);
  expect(new copy.Fault("connection-lost", "gone") instanceof Fault).toBe(true);
  expect(new Error("gone") instanceof Fault).toBe(false);
});
