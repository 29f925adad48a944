import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "./command.ts";
import { completionScript, shells } from "./completions.ts";
import { commandHelp, flagGroupsOf, mainHelp } from "./help.ts";
import { manPage } from "./man-page.ts";

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
    const hidden = { title: null, commands: [command("msg")] };
    const groups = [{ title: "work", commands: [commands[0]!] }, { title: "setup", commands: [commands[1]!] }, hidden];
    const text = mainHelp(groups, "1.2.3");
    expect(text).toStartWith("skein 1.2.3: ");
    expect(text).toContain("\nWork:\n  run     give an agent a task");
    expect(text).toContain("\nSetup:\n  config  what config does\n");
    expect(text).not.toContain("msg");
    expect(mainHelp(groups, "1.2.3", { withHidden: true })).toContain("\nInside a team:\n  msg ");
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  test("help of every real command fits 80 columns", async () => {
    const { allCommands, groupedCommands } = await import("../commands/index.ts");
    const realCommands = await allCommands();
    for (const text of [mainHelp(await groupedCommands(), "0.0.0", { withHidden: true }), ...realCommands.map(commandHelp)]) {
      for (const line of text.split("\n")) expect(line.length <= 80 ? "" : line).toBe("");
    }
  });

  test("help of run lists its flags in groups, and every flag once", async () => {
    const { findCommand } = await import("../commands/index.ts");
    for (const name of ["run", "tui", "chat"]) {
      const real = (await findCommand(name))!;
      const groups = flagGroupsOf(real);
      expect(groups.at(-1)!.flags.map((flag) => flag.name)).toEqual(["help"]);
      expect(groups.flatMap(({ flags }) => flags.map((flag) => flag.name)).toSorted()).toEqual(
        [...real.flags.map((flag) => flag.name), "help"].toSorted(),
      );
      expect(commandHelp(real)).toContain("\nWho answers:\n  -m, --model [model]");
    }
  });

  test("the manual page has every command, flag and exit code, and no line that roff would read as a request", async () => {
    const { groupedCommands } = await import("../commands/index.ts");
    const groups = await groupedCommands();
    const page = manPage(groups, "1.2.3");
    for (const { commands } of groups)
      for (const { name, flags } of commands) {
        expect(page).toContain(`.SS skein ${name.replaceAll("-", "\\-")}`);
        for (const flag of flags) expect(page).toContain(`--${flag.name}`.replaceAll("-", "\\-"));
      }
    const requests = page.split("\n").filter((line) => /^[.']/.test(line));
    expect(requests.filter((line) => !/^\.(TH|SH|SS|TP|PP|B|I|br|nf|fi)\b/.test(line))).toEqual([]);
    expect(page).toContain(".TP\n.B 8\nneeds\\-input\n");
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
