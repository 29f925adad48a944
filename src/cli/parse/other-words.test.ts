import { expect, test } from "bun:test";
import { allCommands, commandNames, findCommand } from "../commands/index.ts";
import { parseArgs } from "./args.ts";
import { otherFlags, translateFlag } from "./other-flags.ts";
import { otherWords, translateWords } from "./other-words.ts";

const phrases = otherWords.flatMap(({ typed }) => typed);

test("every other word that means a command means one that exists, with its verb and flags", async () => {
  for (const row of otherWords) {
    if (!("means" in row)) continue;
    const [name = "", ...rest] = row.means.split(" ");
    if (name.startsWith("--")) expect(["--version", "--continue"]).toContain(name);
    else {
      const command = await findCommand(name);
      expect([row.means, command === null]).toEqual([row.means, false]);
      const args = parseArgs({ ...command!, positionals: { min: 0, max: 2 } }, rest);
      expect([...args.positionals, ...Object.keys(args.flags)]).toHaveLength(rest.length);
    }
  }
});

test("no other word hides a command or a verb of ours, and none is listed twice", async () => {
  expect(new Set(phrases).size).toBe(phrases.length);
  for (const phrase of phrases) {
    const [first = "", verb] = phrase.split(" ");
    if (verb === undefined) expect(commandNames).not.toContain(first);
    else {
      const command = await findCommand(first);
      if (command !== null) expect(command.verbs ?? []).not.toContain(verb);
    }
  }
});

test("every other flag means a flag of the commands it is for, and hides none of theirs", async () => {
  const commands = await allCommands();
  for (const row of otherFlags) {
    const affected = commands.filter(({ name }) => row.only === undefined || row.only.includes(name));
    const has = (words: readonly string[]) =>
      affected.filter(({ flags }) => flags.some((flag) => words.includes(`--${flag.name}`) || words.includes(`-${flag.short}`)));
    if (row.only !== undefined) expect([row.typed, has(row.typed).map(({ name }) => name)]).toEqual([row.typed, []]);
    if (row.only !== undefined) expect(affected.map(({ name }) => name).toSorted()).toEqual([...row.only].toSorted());
    if ("means" in row && row.means !== "") expect([row.means, has([`--${row.means}`]).length > 0]).toEqual([row.means, true]);
  }
});

test("another program's words become ours, and the rest of the line stays", () => {
  expect(translateWords(["sessions", "rm", "abc", "--json"])).toEqual(["delete", "abc", "--json"]);
  expect(translateWords(["LS"])).toEqual(["list"]);
  expect(translateWords(["serve", "--port", "5"])).toEqual(["hub", "start", "--port", "5"]);
  expect(translateWords(["frobnicate"])).toBeNull();
  expect(() => translateWords(["share"])).toThrow("skein uploads nothing");
});

test("another program's flag becomes ours with its value, or its refusal names the flag to use", async () => {
  const run = (await findCommand("run"))!;
  expect(translateFlag(run, ["x", "--max-turns=5"], "--max-turns")).toEqual(["x", "--max-steps=5"]);
  expect(translateFlag(run, ["-n", "name", "x"], "-n")).toEqual(["--session", "name", "x"]);
  expect(translateFlag(run, ["x", "--verbose"], "--verbose")).toEqual(["x"]);
  expect(translateFlag(run, ["x", "--quux"], "--quux")).toBeNull();
  const hintOf = (...argv: string[]) => {
    try {
      return translateFlag(run, argv, argv[0]!.split("=")[0]!);
    } catch (error) {
      return (error as { hint: string }).hint;
    }
  };
  expect(hintOf("--permission-mode", "plan")).toBe("the same is: --policy plan");
  expect(hintOf("--permission-mode=bypassPermissions")).toBe("the same is: --policy full");
  expect(hintOf("--permission-mode", "acceptEdits")).toContain("--policy workspace is the default");
  expect(hintOf("--yolo")).toContain("--policy full removes the sandbox");
  expect(hintOf("--effort", "$(evil)")).toBe("-m <model>:high");
});
