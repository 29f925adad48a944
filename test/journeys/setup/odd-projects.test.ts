// Projects with odd paths and odd repositories: each works or ends with a clear message, and no file of the user is lost.
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { skeinCommand, temporaryHome, type TemporaryHome } from "../../support/temporary-home.ts";

type OddProject = {
  title: string;
  /** Creates the project and returns its path, as bytes if it is not UTF-8. */
  create: (skein: TemporaryHome) => string | Buffer;
  /** Part of the message, if it can't work. */
  refused?: RegExp;
};

const oddProjects: OddProject[] = [
  {
    title: "a path that is not UTF-8",
    create: ({ root }) => Buffer.concat([Buffer.from(`${root}/pro`), Buffer.from([0xff, 0xfe])]),
    refused: /its path is not UTF-8/,
  },
  { title: "a path with newlines, blanks and quotes", create: ({ root }) => `${root}/new\nline 'quote" $(touch x)` },
  {
    title: "a path of 4,000 bytes",
    create: ({ root }) => `${root}/${`${"d".repeat(199)}/`.repeat(19)}${"e".repeat(3_990 - root.length - 19 * 200)}`,
    refused: /too long|ENAMETOOLONG|can't/i,
  },
  {
    title: "links in a loop",
    create: ({ project }) => {
      symlinkSync("loop-b", join(project, "loop-a"));
      symlinkSync("loop-a", join(project, "loop-b"));
      symlinkSync(".", join(project, "self"));
      return project;
    },
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

for (const { title, create, refused } of oddProjects)
  test(`a project with ${title} works or is refused with a reason, and keeps its files`, async () => {
    using skein = temporaryHome();
    const made = create(skein);
    mkdirSync(made, { recursive: true });
    const kept = join(Buffer.isBuffer(made) ? made.toString("latin1") : made, "kept.txt");
    const keptPath = Buffer.isBuffer(made) ? Buffer.concat([made, Buffer.from("/kept.txt")]) : kept;
    writeFileSync(keptPath, "mine\n");
    const results = await runThere(skein, made, [
      ["new", "main", "-m", "ollama/none"],
      ["exec", "main", "echo changed > made.txt && cat kept.txt"],
      ["files", "diff", "main"],
      ["team", "run", "x", "--agents", "engineer", "-m", "ollama/none", "--timeout", "5s"],
    ]);
    const messages = results.map(({ err }) => err).join("\n");
    expect(messages).not.toMatch(/^\s+at .*\.ts:\d+|TypeError|undefined is not|SKEIN_DEBUG/m);
    const [, ran] = results;
    if (refused === undefined || ran!.code === 0) expect([ran!.out, ran!.code]).toEqual([expect.stringContaining("mine"), 0]);
    else expect(messages).toMatch(refused);
    expect(readFileSync(keptPath, "utf8")).toBe("mine\n");
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
