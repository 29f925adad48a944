// Projects with odd paths and odd repositories: each has one defined outcome, and no file of the user is lost.
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { skeinCommand, temporaryHome, type TemporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

type OddProject = {
  title: string;
  /** Creates the project and returns its path, as bytes if it is not UTF-8. */
  create: (skein: TemporaryHome) => string | Buffer;
  /** Part of the message of every command, if it can't work. */
  refused?: RegExp;
  /** Part of the message for a worktree, if the project can have none. */
  hasNoWorktree?: RegExp;
  /** Whether git can't read its repository, so that a team starts without its files. */
  isUnreadable?: boolean;
};

const oddProjects: OddProject[] = [
  {
    title: "a path that is not UTF-8",
    create: ({ root }) => Buffer.concat([Buffer.from(`${root}/pro`), Buffer.from([0xff, 0xfe])]),
    refused: /its path is not UTF-8/,
  },
  {
    title: "a path with newlines, blanks and quotes",
    create: ({ root }) => `${root}/new\nline 'quote" $(touch x)`,
    hasNoWorktree: /has a line break, so it can have no worktree/,
  },
  {
    title: "a path of 4,000 bytes",
    create: ({ root }) => `${root}/${`${"d".repeat(199)}/`.repeat(19)}${"e".repeat(3_990 - root.length - 19 * 200)}`,
  },
  {
    title: "links in a loop",
    create: ({ project }) => {
      symlinkSync("loop-b", join(project, "loop-a"));
      symlinkSync("loop-a", join(project, "loop-b"));
      symlinkSync(".", join(project, "self"));
      return project;
    },
    isUnreadable: true, // its .git is an empty directory
  },
  {
    title: "a corrupt repository",
    create: ({ project }) => {
      initialize(project);
      writeFileSync(join(project, ".git/index"), "broken");
      writeFileSync(join(project, ".git/HEAD"), "ref: refs/heads/\0\n");
      rmSync(join(project, ".git/objects"), { recursive: true });
      return project;
    },
    isUnreadable: true,
  },
  {
    title: "a bare repository",
    create: ({ root }) => {
      git(root, "init", "-q", "--bare", "bare.git");
      return join(root, "bare.git");
    },
  },
  {
    title: "a submodule",
    create: ({ root, project }) => {
      initialize(join(root, "library"));
      initialize(project);
      git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", join(root, "library"), "sub");
      return join(project, "sub");
    },
  },
  {
    title: "a worktree",
    create: ({ root, project }) => {
      initialize(project);
      git(project, "worktree", "add", "-q", join(root, "tree"));
      return join(root, "tree");
    },
  },
  {
    title: "a repository of another user",
    create: ({ project }) => {
      initialize(project);
      if (process.getuid?.() === 0) Bun.spawnSync(["chown", "-R", "21717", project]);
      return project;
    },
  },
];

for (const { title, create, refused, isUnreadable = false, hasNoWorktree } of oddProjects)
  test(`a project with ${title} ${refused === undefined ? "works" : "is refused with a reason"}, and keeps its files`, async () => {
    const server = startModelServer({ steps: [], final: "done" });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      const made = create(skein);
      mkdirSync(made, { recursive: true });
      const kept = Buffer.concat([Buffer.from(made), Buffer.from("/kept.txt")]);
      writeFileSync(kept, "mine\n");
      const model = wireModels.anthropic;
      const results = await runThere(skein, made, [
        ["new", "main", "-m", model],
        ["exec", "main", "echo changed > made.txt && cat kept.txt"],
        ["blame", "made.txt"],
        ["team", "run", "x", "--agents", "engineer", "-m", model],
        ["run", "x", "-w", "side", "-m", model],
      ]);
      if (refused !== undefined) {
        for (const { code, out, err } of results) expect([code, out, err]).toEqual([1, "", expect.stringMatching(refused)]);
      } else {
        const [opened, ran, blamed, team, worktree] = results;
        expect([opened!.code, opened!.err]).toEqual([0, ""]);
        expect([ran!.code, ran!.out, ran!.err]).toEqual([0, "mine\n", ""]);
        // The change was recorded, as one of this command.
        expect([blamed!.code, blamed!.err, blamed!.out]).toEqual([0, "", expect.stringMatching(/shell.*1 {2}changed$/m)]);
        expect(team!.code).toBe(0);
        expect(team!.err.includes("can't be read, so each member works in an empty directory")).toBe(isUnreadable);
        const whyNone = hasNoWorktree ?? (isUnreadable ? /git can't read the repository of/ : null);
        expect([worktree!.code, worktree!.err]).toEqual(whyNone === null ? [0, worktree!.err] : [2, expect.stringMatching(whyNone)]);
      }
      expect(readFileSync(kept, "utf8")).toBe("mine\n");
    } finally {
      await server.stop();
    }
  }, 120_000);

/** A shell changes the directory, because the path may be no string or too long for one call. */
async function runThere(skein: TemporaryHome, directory: string | Buffer, commands: string[][]) {
  const script = join(skein.root, "there.sh");

  writeFileSync(script, Buffer.concat([Buffer.from("cd '"), escapeQuotes(directory), Buffer.from(`' || exit 99\nexec "$@"\n`)]));
  const results: { code: number; out: string; err: string }[] = [];
  for (const command of commands) {
    const child = Bun.spawn(["/bin/sh", script, ...skeinCommand(), ...command], {
      cwd: dirname(script),
      env: skein.env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
    results.push({ code, out, err });
  }
  return results;
}

function escapeQuotes(path: string | Buffer): Buffer {
  return Buffer.isBuffer(path) ? path : Buffer.from(path.replaceAll("'", `'\\''`));
}

function initialize(directory: string): void {
  mkdirSync(directory, { recursive: true });
  git(directory, "init", "-q", "-b", "main");
  writeFileSync(join(directory, "a.txt"), "a\n");
  git(directory, "add", "-A");
  git(directory, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first");
}

function git(directory: string, ...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["git", ...args], { cwd: directory });
  if (exitCode !== 0) throw new Error(stderr.toString());
}
