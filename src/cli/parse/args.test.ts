import { describe, expect, test } from "bun:test";
import { Fault } from "../../protocol/api/error.ts";
import { parseArgs } from "./args.ts";
import type { Args, Command } from "./command.ts";

const command: Command = {
  name: "try",
  summary: "",
  usage: '"task" [flags]',
  positionals: { min: 1, max: 2 },
  flags: [
    { name: "model", short: "m", value: "id", summary: "" },
    { name: "level", short: "l", value: "name", choices: ["none", "minimal"], summary: "" },
    { name: "image", short: "i", value: "file", repeat: true, summary: "" },
    { name: "continue", short: "c", summary: "" },
    { name: "verbose", short: "v", summary: "" },
    { name: "max-steps", value: "n", summary: "" },
    { name: "system", short: "s", value: "text", hints: { "": "--model is enough", everything: "the same is: --level all" }, summary: "" },
  ],
  run: async () => 0,
};

const parse = (...argv: string[]): Args => parseArgs(command, argv);

function fault(table: Command, ...argv: string[]): { message: string; hint: string | undefined } {
  try {
    parseArgs(table, argv);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    expect(error.code).toBe("usage");
    expect(error.message).not.toContain("\n");
    return { message: error.message, hint: error.hint };
  }
  throw new Error(`no fault for ${argv.join(" ")}`);
}

describe("arguments", () => {
  test.each([
    [["t"], {}, ["t"]],
    [["--model", "a", "t"], { model: "a" }, ["t"]],
    [["--model=a", "t"], { model: "a" }, ["t"]],
    [["--model=a=b", "t"], { model: "a=b" }, ["t"]],
    [["t", "-m", "a"], { model: "a" }, ["t"]],
    [["t", "-ma"], { model: "a" }, ["t"]],
    [["t", "-m=a"], { model: "a" }, ["t"]],
    [["-cv", "t"], { continue: true, verbose: true }, ["t"]],
    [["-cvm", "a", "t"], { continue: true, verbose: true, model: "a" }, ["t"]],
    [["-cma", "t"], { continue: true, model: "a" }, ["t"]],
    [["-i", "1", "--image", "2", "--image=3", "t"], { image: ["1", "2", "3"] }, ["t"]],
    [["--level", "none", "t"], { level: "none" }, ["t"]],
    [["-"], {}, ["-"]],
    [["--", "--model", "-x"], {}, ["--model", "-x"]],
    [["t", "--", "--"], {}, ["t", "--"]],
    [["--max-steps", "-5", "t"], { "max-steps": "-5" }, ["t"]],
    [["-m", "-", "t"], { model: "-" }, ["t"]],
    [["-m", "- do this", "t"], { model: "- do this" }, ["t"]],
    [["-m", "-c is a flag", "t"], { model: "-c is a flag" }, ["t"]],
    [["--model=--continue", "t"], { model: "--continue" }, ["t"]],
    [["", "t"], {}, ["", "t"]],
    [["größe=1"], {}, ["größe=1"]],
  ] as [string[], Args["flags"], string[]][])("the arguments %j are parsed", (argv, flags, positionals) => {
    expect(parse(...argv)).toEqual({ flags, positionals });
  });
});

describe("wrong use", () => {
  test.each([
    [["t", "--modle", "a"], 'try has no flag "--modle"', 'did you mean "--model"?'],
    [["t", "--modle=a"], 'try has no flag "--modle"', 'did you mean "--model"?'],
    [["t", "--hepl"], 'try has no flag "--hepl"', 'did you mean "--help"?'],
    [["t", "--entirely-else"], 'try has no flag "--entirely-else"', "`skein try --help` lists its flags"],
    [["t", "-x"], 'try has no flag "-x"', "`skein try --help` lists its flags"],
    [["t", "-cx"], 'try has no flag "-x"', "`skein try --help` lists its flags"],
    [["t", "-model", "a"], 'try has no flag "-model"', 'did you mean "--model"?'],
    [["t", "-verbos"], 'try has no flag "-e"', "`skein try --help` lists its flags"],
    [["t", "--model"], "--model needs a value: --model <id>", 'skein try "task" [flags]'],
    [["t", "-m"], "--model needs a value: --model <id>", 'skein try "task" [flags]'],
    [["t", "-cm"], "--model needs a value: --model <id>", 'skein try "task" [flags]'],
    [["t", "--model", "--continue"], "--model needs a value: --model <id>", 'if "--continue" is the value, write --model=--continue'],
    [["t", "--model", "-c"], "--model needs a value: --model <id>", 'if "-c" is the value, write --model=-c'],
    [["t", "--model", "--"], "--model needs a value: --model <id>", 'if "--" is the value, write --model=--'],
    [["t", "--model="], "--model needs a value that is not empty", undefined],
    [["t", "--model", ""], "--model needs a value that is not empty", undefined],
    [["t", "--continue=yes"], "--continue takes no value", 'skein try "task" [flags]'],
    [["t", "-c=yes"], "-c takes no value", 'skein try "task" [flags]'],
    [["t", "--model", "a", "-m", "b"], "--model was given twice", undefined],
    [["t", "-c", "--continue"], "--continue was given twice", undefined],
    [["t", "-cc"], "--continue was given twice", undefined],
    [["t", "--level", "nome"], '--level can\'t be "nome": none, minimal', 'did you mean "none"?'],
    [["t", "-lall"], '--level can\'t be "all": none, minimal', undefined],
    [["t", "-s", "-c"], "--system needs a value: --system <text>", "--model is enough"],
    [["t", "--system="], "--system needs a value that is not empty", "--model is enough"],
    [["t", "-s", "everything"], '--system can\'t be "everything"', "the same is: --level all"],
    [["--continue"], 'try needs an argument: "task"', 'skein try "task" [flags]'],
    [["a", "b", "c"], 'unexpected argument "c": try takes at most 2', 'skein try "task" [flags]'],
    [["a", "b", "--", "-c"], 'unexpected argument "-c": try takes at most 2', 'skein try "task" [flags]'],
  ] as [string[], string, string | undefined][])("the arguments %j are refused in one line", (argv, message, hint) => {
    expect(fault(command, ...argv)).toEqual({ message, hint });
  });

  test("a superfluous argument is named in the error", () => {
    expect(fault({ ...command, positionals: { min: 0, max: 0 } }, "x").message).toBe('unexpected argument "x": try takes no arguments');
    expect(fault({ ...command, positionals: { min: 2, max: 2 } }, "x").message).toBe('try needs 2 arguments: "task"');
  });

  test("a command can say what to do with more arguments than it takes", () => {
    expect(fault({ ...command, surplusHint: "use another" }, "a", "b", "c").hint).toBe("use another");
    expect(fault({ ...command, surplusHint: (words) => words.join("+") }, "a", "b", "c").hint).toBe("a+b+c");
  });

  test("the error for a missing argument names the verb, and for a missing verb all verbs", () => {
    const commandWithVerbs = { ...command, verbs: ["get", "set"], positionals: { min: 2, max: 3 } };
    expect(fault(commandWithVerbs).message).toBe("try needs an argument: get, set");
    expect(fault(commandWithVerbs, "get").message).toBe("try get needs an argument");
  });

  test("an unknown verb is refused with the nearest known one", () => {
    const commandWithVerbs = { ...command, verbs: ["get", "set", "path"] };
    expect(parseArgs(commandWithVerbs, ["get", "x"]).positionals).toEqual(["get", "x"]);
    expect(fault(commandWithVerbs, "pth")).toEqual({
      message: 'try takes get, set, path, not "pth"',
      hint: 'did you mean "skein try path"?',
    });
    expect(fault(commandWithVerbs, "entirely")).toEqual({
      message: 'try takes get, set, path, not "entirely"',
      hint: 'skein try "task" [flags]',
    });
  });
});
