import { expect, test } from "bun:test";
import { absolutePath } from "./absolute-path.ts";

test("relative paths and ~ become absolute paths", () => {
  const from = { cwd: "/p/q", home: "/home/u" };
  const cases: [string, string][] = [
    [".", "/p/q"],
    ["", "/p/q"],
    ["a/b", "/p/q/a/b"],
    ["../x", "/p/x"],
    ["~", "/home/u"],
    ["~/a", "/home/u/a"],
    ["~other", "/p/q/~other"],
    ["/x/./y/", "/x/y"],
  ];
  for (const [path, expected] of cases) expect(absolutePath(path, from)).toBe(expected);
});
