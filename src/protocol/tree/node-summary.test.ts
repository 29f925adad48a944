import { expect, test } from "bun:test";
import { plainMarkdown } from "./node-summary.ts";

test.each([
  ["# How it works\n\nThe **orders** table", "How it works\n\nThe orders table"],
  ["- one\n- `two`\n> said", "one\ntwo\nsaid"],
  ["```ts\nlet a;\n```\nafter", "let a;\nafter"],
  ["see [the docs](http://x.y/z) and ~~this~~", "see the docs and this"],
  ["a ** b, 2*3*4, snake_case_name, f(**kwargs)", "a ** b, 2*3*4, snake_case_name, f(**kwargs)"],
  ["-1 is a number, #1 is an issue", "-1 is a number, #1 is an issue"],
])("the marks of Markdown are removed from %j", (text, plain) => {
  expect(plainMarkdown(text)).toBe(plain);
});
