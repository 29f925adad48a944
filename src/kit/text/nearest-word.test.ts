import { expect, test } from "bun:test";
import { nearestWord } from "./nearest-word.ts";

test("nearestWord finds a word only if it is close", () => {
  const known = ["readme.md", "package.json", "src", "tsconfig.json"];
  const cases: [string, string | null][] = [
    ["README.md", "readme.md"],
    ["raedme.md", "readme.md"],
    ["pakage.json", "package.json"],
    ["scr", "src"],
    ["sr", "src"],
    ["srx", null],
    ["tsconf", "tsconfig.json"],
    ["zzz", null],
    ["something-else", null],
    ["", null],
  ];
  for (const [typed, expected] of cases) expect([typed, nearestWord(typed, known)]).toEqual([typed, expected]);
});
