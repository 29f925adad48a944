import { expect, test } from "bun:test";
import { rankFiles } from "./rank-files.ts";

const files = ["docs/tui.md", "src/tui/app.ts", "src/tui/model/state.ts", "src/cli/commands/tui/tui.ts", "src/apple/pie.ts", "README.md"];

test("names that start with the letters come first, then paths with them in one piece, then in order", async () => {
  expect(await rankFiles(files, "app", 10)).toEqual(["src/tui/app.ts", "src/apple/pie.ts"]);
  expect(await rankFiles(files, "tui", 2)).toEqual(["docs/tui.md", "src/cli/commands/tui/tui.ts"]);
  expect(await rankFiles(files, "stst", 10)).toEqual(["src/tui/model/state.ts"]);
  expect(await rankFiles(files, "README", 10)).toEqual(["README.md"]);
  expect(await rankFiles(files, "xyz", 10)).toEqual([]);
});

test("without letters the files near the top of the project come first", async () => {
  expect(await rankFiles(files, "", 3)).toEqual(["README.md", "docs/tui.md", "src/tui/app.ts"]);
});

test("ranking a hundred thousand files does not block the event loop", async () => {
  const many = Array.from({ length: 100_000 }, (_, at) => `packages/part-${at % 97}/source/module-${at}/file-with-a-name-${at}.ts`);
  let turns = 0;
  let isOver = false;
  const others = (async () => {
    for (; !isOver; turns += 1) await Bun.sleep(0);
  })();
  expect(await rankFiles(many, "module-99999/file", 1)).toEqual(["packages/part-89/source/module-99999/file-with-a-name-99999.ts"]);
  isOver = true;
  await others;
  expect(turns).toBeGreaterThan(1);
});
