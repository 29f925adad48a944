// Worktrees of a real repository: parallel work that is combined, and merged into a project that changed meanwhile.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainGit } from "../fixtures/plain-git.ts";
import { createWorktrees } from "./worktrees.ts";

const path = process.env["PATH"] ?? "";
const worktrees = createWorktrees(plainGit);
let root = "";
let project = "";
let team = { project: "", gitDir: "" };

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "skein-worktrees-")));
  project = join(root, "project");
  mkdirSync(project);
  team = { project, gitDir: join(root, "team", "repo.git") };
  git("init", "-q", "-b", "main");
  write("a.txt", "one\ntwo\nthree\n");
  write(".gitignore", "ignored/\n");
  git("add", "-A");
  git("commit", "-qm", "first");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("worktrees", () => {
  test("an index that is a link to a key is never copied", async () => {
    const key = join(root, "key");
    writeFileSync(key, "-----BEGIN KEY-----\n");
    rmSync(join(project, ".git/index"));
    symlinkSync(key, join(project, ".git/index"));
    // Tools can read the repository of a worktree at any moment, also between two commands of git.
    const seen: string[] = [];
    const watched = createWorktrees(async (command) => {
      for (const file of new Bun.Glob("**/*").scanSync({ cwd: team.gitDir, dot: true, absolute: true }))
        if (readFileSync(file, "latin1").includes("BEGIN KEY")) seen.push(file);
      return plainGit(command);
    });
    mkdirSync(team.gitDir, { recursive: true });
    await watched.base(team, "files");
    expect(seen).toEqual([]);
  });

  test("a worktree whose repository was removed names it, and what helps", async () => {
    const member = await open("agent_engineer_1_aaaaaaaa");
    rmSync(team.gitDir, { recursive: true });
    const opened = worktrees.open(team, member);
    await expect(opened).rejects.toMatchObject({
      message: expect.stringContaining(team.gitDir),
      hint: expect.stringContaining("skein fork"),
    });
  }, 20_000);

  test("a directory that the work has replaced by a link or a file is merged as such", async () => {
    write("d/one.txt", "1\n");
    write("e/deep/two.txt", "2\n");
    git("add", "-A");
    git("commit", "-qm", "directories");
    const member = await open("agent_engineer_1_aaaaaaaa");
    for (const name of ["d", "e"]) rmSync(join(member.directory, name), { recursive: true });
    symlinkSync("a.txt", join(member.directory, "d"));
    writeFileSync(join(member.directory, "e"), "a file\n");
    const work = await commitWork(member, "replaced");
    const listed = Bun.spawnSync(["git", "ls-tree", "-r", "--name-only", work], { cwd: team.gitDir }).stdout.toString();
    expect(listed.trim().split("\n")).toEqual([".gitignore", "a.txt", "d", "e"]);
  }, 20_000);

  test("work with very many repositories inside of it is refused", async () => {
    const member = await open("agent_engineer_1_aaaaaaaa");
    for (let number = 0; number < 51; number += 1) {
      const repository = join(member.directory, `r${number}`, ".git");
      for (const name of ["objects", "refs"]) mkdirSync(join(repository, name), { recursive: true });
      writeFileSync(join(repository, "HEAD"), "ref: refs/heads/main\n");
      writeFileSync(join(repository, "..", "file"), "x");
    }
    await expect(commitWork(member, "many")).rejects.toThrow("the work has more than 50 repositories inside of it");
  }, 20_000);

  test("a worktree starts with the current files, committed or not, and the user's repository stays unchanged", async () => {
    write("a.txt", "changed\n");
    write("new.txt", "new\n");
    write("ignored/big", "x");
    const before = stateOf();
    const member = await open("agent_engineer_1_aaaaaaaa");
    expect(readFileSync(join(member.directory, "a.txt"), "utf8")).toBe("changed\n");
    expect(existsSync(join(member.directory, "new.txt"))).toBe(true);
    expect(existsSync(join(member.directory, "ignored"))).toBe(false);
    expect(gitIn(member.directory, "status", "--porcelain")).toBe("");
    expect(gitIn(member.directory, "log", "--format=%s")).toBe("the files as they are\nfirst");
    expect(stateOf()).toEqual(before);
  });

  test("an existing worktree stays as it is, and an incomplete one is created again", async () => {
    const member = await open("one");
    writeFileSync(join(member.directory, "mine.txt"), "work\n");
    await worktrees.open(team, member);
    expect(existsSync(join(member.directory, "mine.txt"))).toBe(true);
    rmSync(join(team.gitDir, "members", "one.index"));
    await worktrees.open(team, member);
    expect(gitIn(member.directory, "status", "--porcelain")).toBe("");
  });

  test("many worktrees can be created at the same time", async () => {
    const from = await base();
    const many = [...Array(8).keys()].map((index) => ({ directory: join(root, "work", `m${index}`), branch: `b${index}`, from }));
    await Promise.all(many.map((member) => worktrees.open(team, member)));
    expect(many.map(({ directory }) => gitIn(directory, "status", "--porcelain"))).toEqual(Array(8).fill(""));
  });

  test("a worktree is committed with the commits made in it, and not at all without a change", async () => {
    const member = await open("one");
    const by = { name: "one", message: "work" };
    expect(await worktrees.commit(team, member, by)).toEqual({ commit: null, problem: null });
    writeFileSync(join(member.directory, "b.txt"), "b\n");
    gitIn(member.directory, "add", "b.txt");
    gitIn(member.directory, "commit", "-qm", "its own");
    const own = await commitWork(member, "work");
    expect(gitIn(member.directory, "log", "-1", "--format=%s", own)).toBe("its own");
    writeFileSync(join(member.directory, "c.txt"), "c\n");
    const both = await commitWork(member, "work");
    expect(gitIn(member.directory, "status", "--porcelain")).toBe("");
    expect(gitIn(member.directory, "log", "--format=%an %s", both).split("\n").slice(0, 2)).toEqual(["one work", "test its own"]);
  });

  test("files of repositories created in a worktree are committed, also if its own repository was removed", async () => {
    const member = await open("one");
    for (const [name, isCommitted] of [
      ["empty", false],
      ["sub/whole", true],
    ] as const) {
      const inner = join(member.directory, name);
      mkdirSync(join(inner, "deep"), { recursive: true });
      gitIn(inner, "init", "-q");
      writeFileSync(join(inner, "deep", "file.txt"), `${name}\n`);
      if (isCommitted) gitIn(inner, "add", "-A");
      if (isCommitted) gitIn(inner, "commit", "-qm", "its own");
    }
    const work = await commitWork(member, "work");
    const changed = (await worktrees.changes(team, member.from, work)).map(({ path: file }) => file);
    expect(changed).toEqual(["empty/deep/file.txt", "sub/whole/deep/file.txt"]);
    rmSync(join(member.directory, ".git"), { recursive: true });
    await worktrees.open(team, member);
    expect(gitIn(member.directory, "status", "--porcelain")).toBe("");
    expect(existsSync(join(member.directory, "sub/whole/deep/file.txt"))).toBe(true);
  });

  test("a worktree has no files of other repositories in the project", async () => {
    mkdirSync(join(project, "theirs"));
    gitIn(join(project, "theirs"), "init", "-q");
    write("theirs/file.txt", "x\n");
    const member = await open("one");
    expect(existsSync(join(member.directory, "theirs"))).toBe(false);
    rmSync(join(member.directory, "a.txt"));
    mkdirSync(join(member.directory, "a.txt"));
    writeFileSync(join(member.directory, "a.txt", "b"), "b\n");
    const work = await commitWork(member, "work");
    await worktrees.merge(team, await worktrees.planMerge(team, member.from, work));
    expect([read("a.txt/b"), read("theirs/file.txt")]).toEqual(["b\n", "x\n"]);
  });

  test("a worktree that points to another repository runs nothing of it", async () => {
    const member = await open("one");
    const evil = join(root, "evil");
    mkdirSync(evil);
    gitIn(evil, "init", "-q");
    gitIn(evil, "config", "core.fsmonitor", `touch ${join(root, "ran")}`);
    writeFileSync(join(member.directory, ".gitattributes"), "* filter=evil\n");
    rmSync(join(member.directory, ".git"), { recursive: true });
    symlinkSync(join(evil, ".git"), join(member.directory, ".git"));
    expect(await commitWork(member, "work")).toBeString();
    expect(existsSync(join(root, "ran"))).toBe(false);
  });

  test("corrupt commits of a member are reported, and its files are committed", async () => {
    const member = await open("one");
    writeFileSync(join(member.directory, "b.txt"), "b\n");
    gitIn(member.directory, "add", "b.txt");
    gitIn(member.directory, "commit", "-qm", "its own");
    const blob = gitIn(member.directory, "rev-parse", "HEAD:b.txt");
    const object = join(member.directory, ".git/objects", blob.slice(0, 2), blob.slice(2));
    chmodSync(object, 0o600);
    writeFileSync(object, "broken");
    const { commit, problem } = await worktrees.commit(team, member, { name: "one", message: "work" });
    expect(problem).toContain("its own commits are not kept, only its files: ");
    expect((await worktrees.changes(team, member.from, commit!)).map(({ path: file }) => file)).toEqual(["b.txt"]);
    expect(gitIn(project, "--git-dir", team.gitDir, "log", "-1", "--format=%an %s", commit!)).toBe("one work");
  });

  test("commits that git's fsck refuses are not kept, but the files are", async () => {
    const member = await open("one");
    writeFileSync(join(member.directory, "b.txt"), "b\n");
    gitIn(member.directory, "add", "b.txt");
    const raw = `tree ${gitIn(member.directory, "write-tree")}\nparent ${member.from}\nauthor broken\ncommitter broken\n\nx\n`;
    writeFileSync(join(root, "commit"), raw);
    const evil = gitIn(member.directory, "hash-object", "-t", "commit", "-w", "--literally", join(root, "commit"));
    gitIn(member.directory, "update-ref", `refs/heads/${member.branch}`, evil);
    const { commit, problem } = await worktrees.commit(team, member, { name: "one", message: "work" });
    expect(problem).toContain("index-pack");
    expect(gitIn(project, "--git-dir", team.gitDir, "rev-parse", `${commit}^`)).toBe(member.from);
  });

  test("attributes and excludes of the member's repository hide nothing from the patch", async () => {
    const member = await open("one");
    writeFileSync(join(member.directory, "a.sh"), "echo evil\n");
    writeFileSync(join(member.directory, ".gitattributes"), "*.sh -diff\n");
    writeFileSync(join(member.directory, ".git/info/attributes"), "*.sh -diff\n");
    mkdirSync(join(member.directory, ".git/info"), { recursive: true });
    writeFileSync(join(member.directory, ".git/info/exclude"), "a.sh\n");
    const work = await commitWork(member, "work");
    expect(await worktrees.patch(team, member.from, work)).toContain("+echo evil");
  });

  test("the uncommitted work of a worktree of skein 0.1.0 is kept", async () => {
    const from = await base();
    const member = { directory: join(root, "work", "old"), branch: "skein/t/old", from };
    gitIn(project, "--git-dir", team.gitDir, "worktree", "add", "-q", "-B", member.branch, member.directory, from);
    writeFileSync(join(member.directory, "mine.txt"), "work\n");
    await worktrees.open(team, member);
    expect(gitIn(member.directory, "status", "--porcelain")).toBe("?? mine.txt");
    expect(existsSync(join(team.gitDir, "worktrees", "old"))).toBe(false);
    expect((await worktrees.changes(team, from, await commitWork(member, "work"))).map(({ path: file }) => file)).toEqual(["mine.txt"]);
  });
});

describe("combine", () => {
  test("combine merges the work of several members, and lists conflicts without losing their commits", async () => {
    const works = [];
    for (const [name, file, text] of [
      ["one", "a.txt", "ONE\ntwo\nthree\n"],
      ["two", "a.txt", "one\ntwo\nTHREE\n"],
      ["three", "a.txt", "uno\ntwo\nthree\n"],
      ["four", "d/e.txt", "new\n"],
    ] as const) {
      const member = await open(name);
      mkdirSync(join(member.directory, "d"), { recursive: true });
      writeFileSync(join(member.directory, file), text);
      works.push({ name, commit: await commitWork(member, name) });
    }
    const from = await base();
    const { commit, conflicts } = await worktrees.combine(team, from, works, "phase 1");
    expect(conflicts).toEqual([{ name: "three", paths: ["a.txt"] }]);
    expect((await worktrees.changes(team, from, commit)).map(({ path: file }) => file)).toEqual(["a.txt", "d/e.txt"]);
    expect(await worktrees.patch(team, from, commit)).toContain("+THREE");
    expect(await worktrees.patch(team, from, works[2]!.commit)).toContain("+uno");
  });
});

describe("merge", () => {
  test("a merge keeps later changes of the project, and changes neither its index nor its refs", async () => {
    write("dirty.txt", "mine\n");
    const from = await base();
    const member = await open("one");
    writeFileSync(join(member.directory, "a.txt"), "ONE\ntwo\nthree\n");
    rmSync(join(member.directory, ".gitignore"));
    const work = await commitWork(member, "one");
    write("a.txt", "one\ntwo\nthree\nfour\n");
    const before = stateOf();
    const plan = await worktrees.planMerge(team, from, work);
    expect(plan).toMatchObject({
      conflicts: [],
      changes: [
        { path: ".gitignore", kind: "deleted" },
        { path: "a.txt", kind: "modified" },
      ],
    });
    await worktrees.merge(team, plan);
    expect(read("a.txt")).toBe("ONE\ntwo\nthree\nfour\n");
    expect(existsSync(join(project, ".gitignore"))).toBe(false);
    expect(read("dirty.txt")).toBe("mine\n");
    expect(stateOf()).toEqual(before);
  });

  test("a merge is refused for the same lines, and for a file that changed after the plan", async () => {
    const from = await base();
    const member = await open("one");
    writeFileSync(join(member.directory, "a.txt"), "ONE\ntwo\nthree\n");
    const work = await commitWork(member, "one");
    const plan = await worktrees.planMerge(team, from, work);
    write("a.txt", "mine\ntwo\nthree\n");
    expect(worktrees.merge(team, plan)).rejects.toThrow("a.txt");
    const again = await worktrees.planMerge(team, from, work);
    expect(again.conflicts).toEqual(["a.txt"]);
    expect(worktrees.merge(team, again)).rejects.toThrow("conflicts with the project in a.txt");
    expect(read("a.txt")).toBe("mine\ntwo\nthree\n");
  });
});

test("a killed merge is completed: files that git removed or wrote in part get their new version, and others stay", async () => {
  for (const name of ["cut.txt", "gone.txt", "mine.txt", "whole.txt"]) write(name, `${name}\n`);
  const member = await open("one");
  for (const name of ["cut.txt", "gone.txt", "mine.txt", "whole.txt"]) writeFileSync(join(member.directory, name), `new ${name}\n`);
  const plan = await worktrees.planMerge(team, member.from, await commitWork(member, "work"));
  write("cut.txt", "new c");
  rmSync(join(project, "gone.txt"));
  write("whole.txt", "new whole.txt\n");
  write("mine.txt", "written by hand\n");
  await worktrees.repairMerge(team, plan);
  const read = (name: string) => readFileSync(join(project, name), "utf8");
  expect(["cut.txt", "gone.txt", "mine.txt", "whole.txt"].map(read)).toEqual([
    "new cut.txt\n",
    "new gone.txt\n",
    "written by hand\n",
    "new whole.txt\n",
  ]);
});

test("the base of a project without a repository has all its files", async () => {
  const bare = join(root, "bare");
  mkdirSync(bare);
  writeFileSync(join(bare, "a.txt"), "a\n");
  expect(await worktrees.hasRepository(bare)).toBe(false);
  const at = { project: bare, gitDir: join(root, "r.git") };
  const worktree = { directory: join(root, "work", "w"), branch: "w", from: await worktrees.base(at, "commit") };
  await worktrees.open(at, worktree);
  expect(readFileSync(join(worktree.directory, "a.txt"), "utf8")).toBe("a\n");
  expect(existsSync(join(bare, ".git"))).toBe(false);
});

async function base(): Promise<string> {
  return worktrees.base(team, "files");
}

async function open(name: string) {
  const member = { directory: join(root, "work", name), branch: `skein/t/${name}`, from: await base() };
  await worktrees.open(team, member);
  return member;
}

async function commitWork(member: Awaited<ReturnType<typeof open>>, message: string): Promise<string> {
  return (await worktrees.commit(team, member, { name: member.directory.split("/").at(-1)!, message })).commit!;
}

function write(file: string, text: string): void {
  mkdirSync(join(project, file, ".."), { recursive: true });
  writeFileSync(join(project, file), text);
}

function read(file: string): string {
  return readFileSync(join(project, file), "utf8");
}

/** The state of the user's repository: refs, branch, index. */
function stateOf() {
  return [git("for-each-ref"), git("symbolic-ref", "HEAD"), git("ls-files", "-s"), git("worktree", "list"), git("stash", "list")];
}

function git(...args: string[]): string {
  return gitIn(project, ...args);
}

function gitIn(directory: string, ...args: string[]): string {
  const env = {
    PATH: path,
    HOME: root,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "test",
    GIT_AUTHOR_EMAIL: "t@t",
    GIT_COMMITTER_NAME: "test",
    GIT_COMMITTER_EMAIL: "t@t",
  };
  const { stdout, stderr, exitCode } = Bun.spawnSync(["git", ...args], { cwd: directory, env });
  if (exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${stderr.toString()}`);
  return stdout.toString().trim();
}
