import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "./command.ts";
import { completionScript, shells } from "./completions.ts";
import { commandHelp, mainHelp } from "./help.ts";

const command = (name: string, more: Partial<Command> = {}): Command => ({
  name,
  summary: `what ${name} does`,
  usage: "[flags]",
  positionals: { min: 0, max: 1 },
  flags: [{ name: "json", summary: "print one JSON document" }],
  run: async () => 0,
  ...more,
});

const commands: Command[] = [
  command("run", {
    aliases: ["spawn"],
    summary: "give an agent a task, and don't stop: [really]",
    usage: '"task" [flags]',
    flags: [
      {
        name: "model",
        short: "m",
        value: "vendor/id[:effort]",
        summary: "which model answers, with a summary that is long enough to need a second line of text",
      },
      { name: "policy", value: "name", choices: ["workspace", "readonly"], summary: "what tools may do" },
      { name: "image", value: "file", repeat: true, summary: "show an image: it's seen" },
      { name: "a-flag-with-a-very-long-name", value: "value", summary: "stands on its own line" },
      { name: "print", short: "p", summary: "accepted" },
    ],
    notes: `${"A line of ninety characters, ".repeat(3)}and\nits second line.\n\nExamples:\n  skein run x\n  skein run y`,
  }),
  command("config", { verbs: ["get", "set", "path"] }),
];

describe("help", () => {
  test("help of a command shows usage, flags, choices and examples in 80 columns", () => {
    const text = commandHelp(commands[0] as Command);
    expect(text).toBe(`Give an agent a task, and don't stop: [really].

Usage: skein run "task" [flags]

Also: skein spawn

Flags:
  -m, --model <vendor/id[:effort]>
                                  which model answers, with a summary that is
                                  long enough to need a second line of text
      --policy <name>             what tools may do [workspace|readonly]
      --image <file>              show an image: it's seen (may be repeated)
      --a-flag-with-a-very-long-name <value>
                                  stands on its own line
  -p, --print                     accepted
  -h, --help                      show this help

A line of ninety characters, A line of ninety characters, A line of ninety
characters, and its second line.

Examples:
  skein run x
  skein run y
`);
  });

  test("help of the program lists every command in 80 columns", () => {
    const text = mainHelp(commands, "1.2.3");
    expect(text).toStartWith("skein 1.2.3: ");
    expect(text).toContain("\n  run     give an agent a task");
    expect(text).toContain("\n  config  what config does\n");
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  test("help of every real command fits 80 columns", async () => {
    const { allCommands } = await import("../commands/index.ts");
    const realCommands = await allCommands();
    for (const text of [mainHelp(realCommands, "0.0.0"), ...realCommands.map(commandHelp)]) {
      for (const line of text.split("\n")) expect(line.length <= 80 ? "" : line).toBe("");
    }
  });
});

describe("completions", () => {
  const isInstalled = (shell: string): boolean => Bun.which(shell) !== null;

  function complete(...words: string[]): string[] {
    const script = `${completionScript("bash", commands)}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length - 1}
_skein
printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["--norc", "-c", script], { encoding: "utf8" }).split("\n").filter(Boolean);
  }

  test.each(shells.filter(isInstalled))("the completion script for %s has no syntax error", (shell) => {
    const directory = mkdtempSync(join(tmpdir(), "skein-completions-"));
    try {
      const file = join(directory, "script");
      writeFileSync(file, completionScript(shell, commands));
      execFileSync(shell, ["-n", file], { stdio: "pipe" });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test("bash offers commands, aliases and verbs", () => {
    expect(complete("skein", "")).toEqual(["run", "spawn", "config", "help"]);
    expect(complete("skein", "co")).toEqual(["config"]);
    expect(complete("skein", "config", "")).toEqual(["get", "set", "path"]);
    expect(complete("skein", "config", "g")).toEqual(["get"]);
    expect(complete("skein", "help", "r")).toEqual(["run"]);
  });

  test("bash offers flags of the command, and of run when a flag comes first", () => {
    expect(complete("skein", "run", "--")).toEqual([
      "--model",
      "--policy",
      "--image",
      "--a-flag-with-a-very-long-name",
      "--print",
      "--help",
    ]);
    expect(complete("skein", "spawn", "--po")).toEqual(["--policy"]);
    expect(complete("skein", "config", "get", "--")).toEqual(["--json", "--help"]);
    expect(complete("skein", "--ver")).toEqual(["--version"]);
    expect(complete("skein", "-p", "--po")).toEqual(["--policy"]);
  });

  test("bash offers choices after a flag or an equals sign, and nothing for a free text", () => {
    expect(complete("skein", "run", "--policy", "")).toEqual(["workspace", "readonly"]);
    expect(complete("skein", "run", "--policy", "re")).toEqual(["readonly"]);
    expect(complete("skein", "run", "--policy", "=")).toEqual(["workspace", "readonly"]);
    expect(complete("skein", "run", "--policy", "=", "re")).toEqual(["readonly"]);
    expect(complete("skein", "run", "-m", "")).toEqual([]);
  });

  test("bash offers files for a flag that takes one", () => {
    const directory = mkdtempSync(join(tmpdir(), "skein-completions-"));
    try {
      writeFileSync(join(directory, "picture.png"), "");
      expect(complete("skein", "run", "--image", `${directory}/pic`)).toEqual([`${directory}/picture.png`]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test("the zsh and fish scripts contain every command, flag, verb and choice", () => {
    for (const shell of ["zsh", "fish"] as const) {
      const script = completionScript(shell, commands);
      for (const word of ["run", "spawn", "config", "model", "policy", "workspace readonly", "get set path", "help"])
        expect(script).toContain(word);
    }
    expect(completionScript("fish", commands)).toContain(String.raw`-d 'show an image: it'\''s seen'`);
    expect(completionScript("zsh", commands)).toContain(String.raw`'*--image=[show an image\: it'\''s seen]:file:_files'`);
  });
});
