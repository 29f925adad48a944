// skein init: creates the files of a project that are missing. Overwrites nothing.
import { statSync } from "node:fs";
import { join } from "node:path";
import { createSafely, readSafely, replaceSafely, makeDirectorySafely, writeAll } from "../../../kit/files/safe-file.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { gitignoreTexts } from "../../../protocol/tree/skein-directory.ts";
import { reportCommand } from "../report-command.ts";

export const init = reportCommand({
  name: "init",
  summary: "prepare this project: .skein/ and a starter AGENTS.md",
  usage: "[--json]",
  notes: `Creates .skein/config.jsonc with its schema, .skein/.gitignore, and AGENTS.md if
there is neither AGENTS.md nor CLAUDE.md. These files are meant to be committed.
Existing files are not changed.`,
  async report(_args, ctx) {
    const api = await ctx.api();
    const schema = `${JSON.stringify(await api.config.schema(), null, 2)}\n`;
    const directory = join(ctx.project, ".skein");
    createDirectory(directory);
    const files = [
      createFile(join(directory, "config.jsonc"), configStarter),
      createFile(join(directory, "config.schema.json"), schema),
      await createGitignore(join(directory, ".gitignore")),
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
  try {
    makeDirectorySafely(path, 0o755);
  } catch (error) {
    const hint = "move it away, then run `skein init` again";
    throw new Fault("file-unwritable", `can't create ${path}: ${messageOf(error)}`, { hint, cause: error });
  }
}

function createFile(path: string, text: string): { path: string; made: boolean } {
  try {
    return { path, made: createSafely(path, text, 0o644) };
  } catch (error) {
    throw new Fault("file-unwritable", `can't write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** Replaces the file that an earlier run created, because that one also ignores itself. */
async function createGitignore(path: string): Promise<{ path: string; made: boolean }> {
  const created = createFile(path, gitignoreTexts.committed);
  try {
    if (created.made || readSafely(path, { maxBytes: 10_000, isCut: true })?.toString() !== gitignoreTexts.private) return created;
    await replaceSafely(path, (file) => writeAll(file, gitignoreTexts.committed), 0o644);
    return { path, made: true };
  } catch {
    return created; // Any other file is the user's own.
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
