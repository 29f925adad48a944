// A project whose `.git` names the repository of another project. skein's own git may write to the repository of a project
// (`blame --notes`, `fleet pull`), and must not be led to another one.
import { describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findGitDir } from "../../../src/files/project/find-git-dir.ts";
import { plainGit } from "../../../src/files/fixtures/plain-git.ts";
import { git as runGit } from "../../support/team-journey.ts";
import { createVictim, tiers, users } from "./setup.ts";

/** The repository may already belong to the person of the test. */
const git = (directory: string, ...args: string[]) =>
  runGit(directory, "-c", "safe.directory=*", "-c", "user.name=t", "-c", "user.email=t@t", ...args);

function smallRepository(project: string): void {
  rmSync(join(project, ".git"), { recursive: true });
  git(project, "init", "-q", "-b", "main");
  writeFileSync(join(project, "a.txt"), "one\ntwo\nthree\n");
  commitAll(project, "first");
}

function commitAll(project: string, message: string): void {
  git(project, "add", "-A");
  git(project, "commit", "-qm", message);
}

/** Each makes git find the repository of the victim, in which the project's commit exists. */
const ways: Record<string, (project: string, victim: string, head: string) => void> = {
  "a commondir file": (project, victim, head) => {
    writeFileSync(join(project, ".git/commondir"), `${join(victim, ".git")}\n`);
    writeFileSync(join(project, ".git/HEAD"), `${head}\n`);
  },
  "a .git file": (project, victim) => {
    rmSync(join(project, ".git"), { recursive: true });
    writeFileSync(join(project, ".git"), `gitdir: ${join(victim, ".git")}\n`);
  },
  "a .git file that names a worktree of the victim": (project, victim) => {
    git(victim, "worktree", "add", "-q", "--detach", `${victim}-tree`);
    rmSync(join(project, ".git"), { recursive: true });
    writeFileSync(join(project, ".git"), readFileSync(join(`${victim}-tree`, ".git")));
  },
  "a .git that is a link": (project, victim) => {
    rmSync(join(project, ".git"), { recursive: true });
    symlinkSync(join(victim, ".git"), join(project, ".git"));
  },
  "a worktree of its own that shares the victim's objects": (project, victim, head) => {
    const own = join(project, "own");
    mkdirSync(own);
    cpSync(join(project, ".git/index"), join(own, "index"));
    writeFileSync(join(own, "HEAD"), `${head}\n`);
    writeFileSync(join(own, "commondir"), `${join(victim, ".git")}\n`);
    writeFileSync(join(own, "gitdir"), `${join(project, ".git")}\n`);
    rmSync(join(project, ".git"), { recursive: true });
    writeFileSync(join(project, ".git"), `gitdir: ${own}\n`);
  },
};

describe.each(users)("as $name", (person) => {
  describe.each(tiers)("in the best sandbox up to %s", (tier) => {
    test.each(Object.keys(ways))(
      "no note is written into another repository by %s",
      async (way) => {
        const victim = createVictim(person, tier);
        try {
          const [project, other] = [victim.project("hostile"), victim.project("victim")];
          smallRepository(project);
          expect((await victim.run(project, ["new", "main", "-m", "ollama/none"])).code).toBe(0);
          expect((await victim.run(project, ["exec", "main", "echo four >> a.txt"])).code).toBe(0);
          commitAll(project, "second");
          const head = git(project, "rev-parse", "HEAD").trim();
          rmSync(join(other, ".git"), { recursive: true });
          cpSync(join(project, ".git"), join(other, ".git"), { recursive: true });
          ways[way]!(project, other, head);
          const { err } = await victim.run(project, ["blame", "a.txt", "--notes"]);
          expect(git(other, "for-each-ref", "refs/notes")).toBe("");
          expect(err).not.toBe("");
        } finally {
          await victim.end();
        }
      },
      60_000,
    );
  });
});

test("the repository of a worktree, of a submodule and of the project itself is found", async () => {
  const victim = createVictim(users[0]!, "namespaces");
  try {
    const [project, library] = [victim.project("project"), victim.project("library")];
    smallRepository(project);
    smallRepository(library);
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "sub");
    git(project, "worktree", "add", "-q", `${project}-tree`);
    const found = (directory: string) => findGitDir({ git: plainGit, project: directory });
    expect(await Promise.all([project, `${project}-tree`, join(project, "sub")].map(found))).toEqual([
      join(project, ".git"),
      join(project, ".git"),
      join(project, ".git/modules/sub"),
    ]);
    renameSync(join(project, ".git"), join(project, "moved"));
    expect(await found(project)).toBeNull();
  } finally {
    await victim.end();
  }
}, 60_000);
