// Commands that messages name in backticks: each exists and has the flags that stand with it, so that a hint can be typed.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { findCommand } from "../../../src/cli/commands/index.ts";

const root = join(import.meta.dir, "..", "..", "..");

test("every command in backticks in a message exists, with its flags", async () => {
  const problems: string[] = [];
  for (const path of new Bun.Glob("src/**/*.{ts,tsx}").scanSync({ cwd: root })) {
    if (/\.test\.|\/fixtures\//.test(path)) continue;
    const code = await Bun.file(join(root, path)).text();
    for (const [, words = ""] of code.matchAll(/`skein ([a-z][a-z-]*(?: [^`\n$\\[]*)?)\\?`/g)) {
      const [name = "", ...rest] = words.split(" ");
      const flags = rest.filter((word) => /^--[a-z]/.test(word)).map((word) => word.slice(2).replace(/=.*/, ""));
      const command = await findCommand(name);
      const isKnown = (flag: string) => flag === "help" || command?.flags.some((candidate) => candidate.name === flag) === true;
      if (command === null || !flags.every(isKnown)) problems.push(`${path}: skein ${words}`);
    }
  }
  expect(problems).toEqual([]);
});
