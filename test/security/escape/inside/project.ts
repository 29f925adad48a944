// Attempts to leave something in the project that the user's next git command or skein would run or obey.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import type { Attempt } from "./world.ts";

const hook = "#!/bin/sh\ntrue\n";

const project = (name: string, run: (project: string, git: string) => unknown): Attempt => ({
  name,
  kind: "call",
  run: (world) => run(world.project, join(world.project, ".git")),
});

export const projectAttempts: Attempt[] = [
  project("git-new-hook", (_, git) => fs.writeFileSync(join(git, "hooks/post-commit"), hook, { mode: 0o755 })),
  project("git-edit-hook", (_, git) => fs.appendFileSync(join(git, "hooks/pre-commit"), hook)),
  project("git-chmod-hook", (_, git) => fs.chmodSync(join(git, "hooks/pre-commit"), 0o700)),
  project("git-hooks-path", (path) => gitRuns(path, ["config", "core.hooksPath", "made"])),
  project("git-hooks-path-of-worktree", (path) => gitRuns(path, ["config", "--worktree", "core.hooksPath", "made"])),
  project("git-edit-config", (_, git) => fs.appendFileSync(join(git, "config"), "[alias]\n\tst = status\n")),
  project("git-replace-config", (_, git) => {
    fs.copyFileSync(join(git, "HEAD"), join(git, "config-2"));
    fs.renameSync(join(git, "config-2"), join(git, "config"));
    fs.writeFileSync(join(git, "config"), "");
  }),
  project("git-rename-hooks", (_, git) => renameAndBack(join(git, "hooks"))),
  project("git-rename-git", (_, git) => renameAndBack(git)),
  project("git-rename-project", (path) => renameAndBack(path)),
  project("git-unlink-config", (_, git) => {
    const before = fs.readFileSync(join(git, "config"));
    fs.unlinkSync(join(git, "config"));
    fs.writeFileSync(join(git, "config"), before);
  }),
  project("git-module-hook", (_, git) => fs.writeFileSync(join(git, "modules/sub/hooks/post-commit"), hook)),
  project("git-module-config", (_, git) => fs.appendFileSync(join(git, "modules/sub/config"), "[alias]\n\tst = status\n")),
  project("git-common-directory", (_, git) => createAndRemove(join(git, "commondir"), "../made\n")),
  project("git-common-directory-of-worktree", (_, git) => fs.writeFileSync(join(git, "worktrees/side/commondir"), "../../../made\n")),
  project("git-nested-repository", (path) => {
    fs.mkdirSync(join(path, "nested/.git"), { recursive: true });
    fs.writeFileSync(join(path, "nested/.git/config"), "[core]\n\tfsmonitor = true\n");
    fs.rmSync(join(path, "nested"), { recursive: true });
  }),
  project("skein-new-config", (path) => createAndRemove(join(path, ".skein/config-2.jsonc"), "{}")),
  project("skein-edit-config", (path) => fs.writeFileSync(join(path, ".skein/config.jsonc"), "{}")),
  project("skein-edit-transcripts", (path) => createAndRemove(join(path, ".skein/sessions/made.jsonl"), "{}")),
  project("skein-rename", (path) => renameAndBack(join(path, ".skein"))),
  project("skein-roles", (path) => {
    fs.mkdirSync(join(path, ".skein/roles"));
    fs.rmdirSync(join(path, ".skein/roles"));
  }),
];

function gitRuns(cwd: string, args: string[]): void {
  const { status, stderr } = spawnSync("git", args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr.trim());
}

function renameAndBack(path: string): void {
  fs.renameSync(path, `${path}-moved`);
  fs.renameSync(`${path}-moved`, path);
}

function createAndRemove(path: string, text: string): void {
  fs.writeFileSync(path, text);
  fs.unlinkSync(path);
}
