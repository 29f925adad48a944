import { afterAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGitPlaceholders, protectedGitPaths, writableGitPaths, writableRepositories } from "./git-paths.ts";

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

describe("writable paths", () => {
  test("commits write the repository inside the project", () => {
    const project = repository();
    expect(writableGitPaths(project)).toEqual([join(project, ".git")]);
  });

  test("commits of a worktree write the shared repository that names the worktree", () => {
    const main = repository();
    const worktree = `${main}-tree`;
    git(main, "worktree", "add", "-q", worktree);
    expect(writableGitPaths(worktree)).toEqual([join(main, ".git")]);
  });

  test("a .git file that names a repository without this worktree makes nothing writable", () => {
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

  test("a .git file whose directory names a foreign shared repository makes nothing writable", () => {
    const victim = repository();
    const stranger = join(root, "stranger2");
    mkdirSync(join(stranger, "own"), { recursive: true });
    writeFileSync(join(stranger, ".git"), "gitdir: own\n");
    writeFileSync(join(stranger, "own", "commondir"), join(victim, ".git"));
    writeFileSync(join(stranger, "own", "gitdir"), join(stranger, ".git"));
    expect(writableGitPaths(stranger)).toEqual([]);
  });

  test("a .git that is a link, empty or missing makes nothing writable", () => {
    const [linked, empty, none] = ["linked", "empty", "none"].map((name) => join(root, name)) as [string, string, string];
    for (const path of [linked, join(empty, ".git"), none]) mkdirSync(path, { recursive: true });
    symlinkSync(join(repository(), ".git"), join(linked, ".git"));
    expect([linked, empty, none].map(writableGitPaths)).toEqual([[], [], []]);
  });
});

describe("protected paths", () => {
  const names = ["hooks", "config", "config.worktree", "commondir"];

  test("hooks and settings of the repository, its submodules and its worktrees are protected", () => {
    const project = repository();
    const library = repository();
    git(project, "submodule", "add", "-q", library, "deep/er");
    git(project, "worktree", "add", "-q", `${project}-tree`);
    const own = join(project, ".git");
    const places = [own, join(own, "modules/deep/er"), join(own, "worktrees", `${project.split("/").at(-1)!}-tree`)];
    expect(new Set(protectedGitPaths(own))).toEqual(new Set(places.flatMap((place) => names.map((name) => join(place, name)))));
  });

  test("the .git file of a worktree or a submodule is protected", () => {
    const main = repository();
    git(main, "worktree", "add", "-q", `${main}-tree`);
    expect(protectedGitPaths(`${main}-tree`)).toEqual([join(`${main}-tree`, ".git")]);
  });

  test("a repository with linked hooks or settings is protected completely, because a link can be replaced", () => {
    const project = repository();
    rmSync(join(project, ".git", "hooks"), { recursive: true });
    symlinkSync("../my-hooks", join(project, ".git", "hooks"));
    expect(writableGitPaths(project)).toEqual([]);
    expect(protectedGitPaths(project)).toEqual([join(project, ".git")]);
  });

  test("an empty .git is protected completely, because it could become a repository", () => {
    const project = join(root, "empty");
    mkdirSync(join(project, ".git"), { recursive: true });
    expect([writableGitPaths(project), protectedGitPaths(project)]).toEqual([[], [join(project, ".git")]]);
  });

  test("a repository whose HEAD and objects are links is protected like any other", () => {
    const own = join(repository(), ".git");
    for (const name of ["HEAD", "objects"]) {
      renameSync(join(own, name), join(own, `${name}.real`));
      symlinkSync(`${name}.real`, join(own, name));
    }
    expect(protectedGitPaths(own)).toEqual(names.map((name) => join(own, name)));
  });

  test("with very many submodules all of their repositories are protected", () => {
    const own = join(repository(), ".git");
    const addModules = (count: number) => {
      for (let number = 0; number < count; number += 1) {
        mkdirSync(join(own, "modules", `m${number}`, "objects"), { recursive: true });
        writeFileSync(join(own, "modules", `m${number}`, "HEAD"), "ref: refs/heads/main\n");
      }
    };
    addModules(100);
    expect(protectedGitPaths(own)).toContain(join(own, "modules/m99/config"));
    addModules(101);
    expect(protectedGitPaths(own)).toEqual([...names.map((name) => join(own, name)), join(own, "modules")]);
    expect(writableRepositories(join(own, ".."))).toEqual([own]);
  });

  test("a directory without a repository and a single writable file have no protected paths", () => {
    expect(protectedGitPaths(root)).toEqual([]);
    writeFileSync(join(root, "one.txt"), "");
    expect([protectedGitPaths(join(root, "one.txt")), writableGitPaths(join(root, "one.txt"))]).toEqual([[], []]);
  });
});

describe("missing files", () => {
  test("a placeholder has the content that git assumes when the file is missing", () => {
    const project = repository();
    rmSync(join(project, ".git", "hooks"), { recursive: true });
    const before = git(project, "status", "--porcelain=v2", "--branch");
    writableRepositories(project).forEach((repository) => createGitPlaceholders(repository));
    writableRepositories(project).forEach((repository) => createGitPlaceholders(repository));
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

  test("without a placeholder a tool could redirect git's settings", () => {
    const project = repository();
    cpSync(join(project, ".git"), join(project, "evil"), { recursive: true });
    git(join(project, "evil"), "config", "--file", "config", "core.hooksPath", "/evil");
    writeFileSync(join(project, ".git", "commondir"), "../evil\n");
    expect(git(project, "config", "core.hooksPath")).toBe("/evil");
  });

  test("existing files of the user stay unchanged", () => {
    const project = repository();
    git(project, "config", "extensions.worktreeConfig", "true");
    writeFileSync(join(project, ".git", "config.worktree"), "[a]\n\tb = c\n");
    writeFileSync(join(project, ".git", "hooks", "pre-commit"), "mine");
    writableRepositories(project).forEach((repository) => createGitPlaceholders(repository));
    expect(readFileSync(join(project, ".git", "config.worktree"), "utf8")).toContain("b = c");
    expect(readFileSync(join(project, ".git", "hooks", "pre-commit"), "utf8")).toBe("mine");
  });

  test("a placeholder for worktree settings is created if the repository uses them", () => {
    const project = repository();
    git(project, "config", "extensions.worktreeConfig", "true");
    rmSync(join(project, ".git", "config.worktree"), { force: true });
    writableRepositories(project).forEach((repository) => createGitPlaceholders(repository));
    expect(readFileSync(join(project, ".git", "config.worktree"), "utf8")).toBe("");
    git(project, "status");
  });
});
