import { afterAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writableGitPaths, protectedGitPaths, createGitPlaceholders } from "./git-paths.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-git-places-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const settings = ["user.name=a", "user.email=a@b", "protocol.file.allow=always", "init.defaultBranch=main"].flatMap((one) => ["-c", one]);

function git(cwd: string, ...args: string[]): string {
  const env = { PATH: process.env["PATH"] ?? "", HOME: root, GIT_CONFIG_NOSYSTEM: "1" };
  const { exitCode, stdout, stderr } = Bun.spawnSync(["git", ...settings, ...args], { cwd, env });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString().trim();
}

let count = 0;

/** A repository with one commit. */
function repository(): string {
  const path = join(root, `r${(count += 1)}`);
  mkdirSync(path);
  git(path, "init", "-q");
  git(path, "commit", "-q", "--allow-empty", "-m", "one");
  return path;
}

describe("what commits write", () => {
  test("is the repository inside the project", () => {
    const project = repository();
    expect(writableGitPaths(project)).toEqual([join(project, ".git")]);
  });

  test("is the shared repository of a worktree, which names the worktree in its turn", () => {
    const main = repository();
    const worktree = `${main}-tree`;
    git(main, "worktree", "add", "-q", worktree);
    expect(writableGitPaths(worktree)).toEqual([join(main, ".git")]);
  });

  test("is nothing for a .git file that names a repository which does not know of it", () => {
    const victim = repository();
    git(victim, "worktree", "add", "-q", `${victim}-tree`);
    const stranger = join(root, "stranger");
    mkdirSync(stranger);
    for (const named of [
      join(victim, ".git"),
      join(victim, ".git", "worktrees", `${victim.split("/").at(-1)!}-tree`),
      "/etc",
      "../../..",
      "",
    ]) {
      writeFileSync(join(stranger, ".git"), `gitdir: ${named}\n`);
      expect(writableGitPaths(stranger)).toEqual([]);
    }
  });

  test("is nothing for a .git file whose own directory claims another as shared", () => {
    const victim = repository();
    const stranger = join(root, "stranger2");
    mkdirSync(join(stranger, "own"), { recursive: true });
    writeFileSync(join(stranger, ".git"), "gitdir: own\n");
    writeFileSync(join(stranger, "own", "commondir"), join(victim, ".git"));
    writeFileSync(join(stranger, "own", "gitdir"), join(stranger, ".git"));
    expect(writableGitPaths(stranger)).toEqual([]);
  });

  test("is nothing where .git is a link, is empty or is not there", () => {
    const [linked, empty, none] = ["linked", "empty", "none"].map((name) => join(root, name)) as [string, string, string];
    for (const path of [linked, join(empty, ".git"), none]) mkdirSync(path, { recursive: true });
    symlinkSync(join(repository(), ".git"), join(linked, ".git"));
    expect([linked, empty, none].map(writableGitPaths)).toEqual([[], [], []]);
  });
});

describe("what is guarded", () => {
  const names = ["hooks", "config", "config.worktree", "commondir"];

  test("hooks, settings and the way to them, of the repository, its submodules and its worktrees", () => {
    const project = repository();
    const library = repository();
    git(project, "submodule", "add", "-q", library, "deep/er");
    git(project, "worktree", "add", "-q", `${project}-tree`);
    const own = join(project, ".git");
    const places = [own, join(own, "modules/deep/er"), join(own, "worktrees", `${project.split("/").at(-1)!}-tree`)];
    expect(new Set(protectedGitPaths(own))).toEqual(new Set(places.flatMap((place) => names.map((name) => join(place, name)))));
  });

  test("the file by which a worktree or a submodule finds its repository", () => {
    const main = repository();
    git(main, "worktree", "add", "-q", `${main}-tree`);
    expect(protectedGitPaths(`${main}-tree`)).toEqual([join(`${main}-tree`, ".git")]);
  });

  test("all of a repository whose hooks or settings are a link, because a link can be put elsewhere", () => {
    const project = repository();
    rmSync(join(project, ".git", "hooks"), { recursive: true });
    symlinkSync("../my-hooks", join(project, ".git", "hooks"));
    expect(writableGitPaths(project)).toEqual([]);
    expect(protectedGitPaths(project)).toEqual([join(project, ".git")]);
  });

  test("nothing in a directory that is no repository, and nothing of a single file that may be written", () => {
    expect(protectedGitPaths(root)).toEqual([]);
    writeFileSync(join(root, "one.txt"), "");
    expect([protectedGitPaths(join(root, "one.txt")), writableGitPaths(join(root, "one.txt"))]).toEqual([[], []]);
  });
});

describe("what is not there", () => {
  test("is made, and means what its absence meant", () => {
    const project = repository();
    rmSync(join(project, ".git", "hooks"), { recursive: true });
    const before = git(project, "status", "--porcelain=v2", "--branch");
    createGitPlaceholders(project);
    createGitPlaceholders(project);
    expect(readdirSync(join(project, ".git")).filter((name) => name.startsWith("commondir"))).toEqual(["commondir"]);
    expect(existsSync(join(project, ".git", "hooks"))).toBe(true);
    expect(existsSync(join(project, ".git", "config.worktree"))).toBe(false);
    expect(git(project, "status", "--porcelain=v2", "--branch")).toBe(before);
    git(project, "commit", "-q", "--allow-empty", "-m", "two");
    git(project, "worktree", "add", "-q", `${project}-tree`);
    git(`${project}-tree`, "commit", "-q", "--allow-empty", "-m", "three");
    git(project, "gc", "-q");
    expect(git(project, "log", "--all", "--format=%s").split("\n").toSorted()).toEqual(["one", "three", "two"]);
    expect(git(project, "fsck")).toBe("");
  });

  test("without it, git would take its settings from wherever a tool says", () => {
    const project = repository();
    cpSync(join(project, ".git"), join(project, "evil"), { recursive: true });
    git(join(project, "evil"), "config", "--file", "config", "core.hooksPath", "/evil");
    writeFileSync(join(project, ".git", "commondir"), "../evil\n");
    expect(git(project, "config", "core.hooksPath")).toBe("/evil");
  });

  test("what a person has there is left as it is", () => {
    const project = repository();
    git(project, "config", "extensions.worktreeConfig", "true");
    writeFileSync(join(project, ".git", "config.worktree"), "[a]\n\tb = c\n");
    writeFileSync(join(project, ".git", "hooks", "pre-commit"), "mine");
    createGitPlaceholders(project);
    expect(readFileSync(join(project, ".git", "config.worktree"), "utf8")).toContain("b = c");
    expect(readFileSync(join(project, ".git", "hooks", "pre-commit"), "utf8")).toBe("mine");
  });

  test("settings for one worktree are made where the repository looks for them", () => {
    const project = repository();
    git(project, "config", "extensions.worktreeConfig", "true");
    rmSync(join(project, ".git", "config.worktree"), { force: true });
    createGitPlaceholders(project);
    expect(readFileSync(join(project, ".git", "config.worktree"), "utf8")).toBe("");
    git(project, "status");
  });
});
