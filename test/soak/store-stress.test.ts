// Random operations of killed processes on a store in SQLite, compared with a model.
import { afterAll, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../src/store/sqlite/sqlite-store.ts";
import { stressStore } from "../support/store-stress.ts";

const root = mkdtempSync(join(tmpdir(), "skein-storm-store-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("the store equals the model after random operations of killed processes", { timeout: 120_000 }, async () => {
  const [path, outputsDir] = [join(root, "store.db"), join(root, "outputs")];
  await stressStore({ targetOf: () => path, outputsDir, open: () => openStore({ path, outputsDir }), minSteps: 2500 });
});
