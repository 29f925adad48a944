// Runs sessions in worktrees of a small real repository, with a scripted model that runs one command.
import { expect } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { result } from "../../src/protocol/fixtures/printed-schemas.ts";
import type { ModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { git } from "./team-journey.ts";
import { wireModels, type TemporaryHome } from "./temporary-home.ts";

/** A repository with one commit: `a.txt` with three lines, and `.gitignore` for `.env` and `node_modules/`. */
export function smallRepository(project: string): void {
  rmSync(join(project, ".git"), { recursive: true, force: true });
  writeFileSync(join(project, "a.txt"), "one\ntwo\nthree\n");
  writeFileSync(join(project, ".gitignore"), ".env\nnode_modules/\n");
  git(project, "init", "-q", "-b", "main");
  commitAll(project, "first");
}

export function commitAll(project: string, message: string): void {
  git(project, "add", "-A");
  git(project, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", message);
}

/** Runs a turn in which the model executes the command. Returns its result and the text on stderr. */
export async function runCommand(skein: TemporaryHome, server: ModelServer, command: string, args: string[]) {
  server.setScript(shellScript([command]));
  const done = await skein.run(["run", "-m", wireModels.anthropic, "--json", ...args]);
  expect({ code: done.code, err: done.code === 0 ? "" : done.err }).toEqual({ code: 0, err: "" });
  return { ...result.parse(done.json()), stderr: done.err };
}

export function readIn(directory: string, ...names: string[]): (string | null)[] {
  return names.map((name) => (existsSync(join(directory, name)) ? readFileSync(join(directory, name), "utf8") : null));
}
