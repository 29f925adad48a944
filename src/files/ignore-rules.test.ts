import { expect, test } from "bun:test";
import { readIgnoreRules } from "./ignore-rules.ts";

const rows: { rules: string; may: string[]; never: string[] }[] = [
  { rules: "", may: [], never: ["a", "b.txt"] },
  { rules: "node_modules\n/dist/\n# src\n!lib\n \n", may: ["node_modules", "dist", "Dist"], never: ["src", "lib", "distance", " "] },
  { rules: "*.log\nbuild-*\na*z", may: ["x.log", ".LOG", "build-1", "az", "a.b.z"], never: ["log", "build", "ab"] },
  { rules: "docs/**/out\nsrc/gen", may: ["out", "gen"], never: ["docs", "src"] },
  { rules: "target   \n", may: ["target"], never: ["target2"] },
  // git must decide about every name.
  ...["**", "lib/**", "*", "a?", "[ab]", "a\\ b", "b\r", "\tc", "/", "\u00e9", "x".repeat(300)].map((rules) => ({
    rules,
    may: ["any", "other.ts"],
    never: [],
  })),
];

for (const { rules, may, never } of rows)
  test(`the rules ${JSON.stringify(rules.slice(0, 40))} never miss a name that git may match`, () => {
    const matches = readIgnoreRules(rules);
    for (const name of may) expect({ name, may: matches(name) }).toEqual({ name, may: true });
    for (const name of never) expect({ name, may: matches(name) }).toEqual({ name, may: false });
  });
