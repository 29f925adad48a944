import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveContained } from "./contained-path.ts";

test("a path is accepted only if its real target is below one of the directories", () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-below-")));
  for (const name of ["own", "shared", "own-not"]) mkdirSync(join(root, name));
  for (const name of ["own/a", "shared/b", "own-not/c"]) writeFileSync(join(root, name), "");
  symlinkSync(join(root, "own-not/c"), join(root, "own/out"));
  symlinkSync(join(root, "shared/b"), join(root, "own/in"));
  symlinkSync(join(root, "own"), join(root, "alias"));
  const places = [join(root, "alias"), join(root, "shared")];
  const of = (path: string) => resolveContained(path, places);
  expect(["a", "b", "in", join(root, "own/a"), join(root, "alias/a"), "../shared/b"].map(of)).toEqual(
    ["own/a", "shared/b", "shared/b", "own/a", "own/a", "shared/b"].map((path) => ({ path: join(root, path) })),
  );
  expect(["out", "../own-not/c", join(root, "own-not/c"), "/etc/passwd", "../none", "/none"].map(of)).toEqual(
    Array.from({ length: 6 }, () => ({ problem: "outside" })),
  );
  expect(["none", join(root, "own/none"), "../alias/none"].map(of)).toEqual(Array.from({ length: 3 }, () => ({ problem: "missing" })));
  rmSync(root, { recursive: true });
});
