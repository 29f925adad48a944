// skein init: creates the files of a project that are missing. Overwrites nothing.
import { lstatSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { reportCommand } from "../report-command.ts";

export const init = reportCommand({
  name: "init",
  summary: "prepare this project: .skein/ and a starter AGENTS.md",
  usage: "[--json]",
  notes: `Creates .skein/config.jsonc with its schema, .skein/.gitignore, and AGENTS.md if
there is neither AGENTS.md nor CLAUDE.md. Existing files are not changed.`,
  async report(_args, ctx) {
    const api = await ctx.api();
    const schema = `${JSON.stringify(await api.config.schema(), null, 2)}\n`;
    const directory = join(ctx.project, ".skein");
    createDirectory(directory);
    const files = [
      createFile(join(directory, "config.jsonc"), configStarter),
      createFile(join(directory, "config.schema.json"), schema),
      createFile(join(directory, ".gitignore"), gitignoreStarter),
    ];
    const hasContext = ["AGENTS.md", "CLAUDE.md"].some((name) => exists(join(ctx.project, name)));
    if (!hasContext) files.push(createFile(join(ctx.project, "AGENTS.md"), agentsStarter));
    return {
      json: { project: ctx.project, files },
      text(style) {
        const lines = files.map(({ path, made }) => (made ? `${style.green("created")} ${path}\n` : `${style.dim("exists")}  ${path}\n`));
        return `${lines.join("")}${files.some(({ made }) => made) ? "" : "nothing to do: all files exist\n"}`;
      },
    };
  },
});

/** Refuses a symbolic link, because it could lead out of the project. */
function createDirectory(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat && !stat.isDirectory())
    throw new Fault("file-unwritable", `${path} is not a directory`, { hint: "move it away, then run `skein init` again" });
  if (stat) return;
  try {
    mkdirSync(path);
  } catch (error) {
    throw new Fault("file-unwritable", `can't create ${path}: ${messageOf(error)}`, { cause: error });
  }
}

function createFile(path: string, text: string): { path: string; made: boolean } {
  try {
    writeFileSync(path, text, { flag: "wx" });
    return { path, made: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return { path, made: false };
    throw new Fault("file-unwritable", `can't write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

const configStarter = `{
  "$schema": "./config.schema.json",

  // Settings of this project, for everyone who works in it. \`skein config\` shows
  // all keys and where each value comes from. Until a person runs \`skein trust\`,
  // this file can only narrow what their own configuration allows.

  // "model": "anthropic/claude-sonnet-4-5",
  // "max_steps": 100,
  // "max_budget_usd": 2,
  // "policy": "readonly",
}
`;

const gitignoreStarter = `sessions/
plan.md
`;

const agentsStarter = `# For agents that work in this project

Facts that every agent needs before its first step. Keep this file short: it is
part of every prompt.

## The project

What it does, in two sentences.

## Commands

- Build:
- Test:
- Check style:

## Rules

-
`;
