// A pipe in the place of a file never blocks skein: neither one that a project has, nor one that the user names.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createVictim, model, tiers, users, type Victim } from "./setup.ts";

const task = ["run", "go on", "-m", model, "--json"];

/** `.git` is a file that names the repository `evil`. */
const worktree = "rm -r .git && echo 'gitdir: evil' >.git && mkdir -p evil/objects && echo 'ref: refs/heads/main' >evil/HEAD";
const repository = "mkdir -p .git/objects && echo 'ref: refs/heads/main' >.git/HEAD";

/** The place of the pipe, the command, its exit code, and a script that prepares the project. */
const rows: [path: string, args: string[], code: number, prepare?: string][] = [
  ["evil/commondir", task, 0, worktree],
  ["evil/gitdir", task, 0, worktree],
  [".git/config", task, 0, repository],
  [".git/commondir", task, 0, repository],
  ["AGENTS.md", task, 0],
  [".claude/skills/x/SKILL.md", task, 0],
  [".skein/roles/x.md", [...task, "--role", "engineer"], 0],
  [".skein/config.jsonc", task, 3],
  [".skein/plan.md", [...task, "--policy", "plan"], 1],
  ["pipe", [...task, "--plan", "pipe"], 2],
  ["pipe", [...task, "--image", "pipe"], 2],
  ["pipe", [...task, "--json-schema", "pipe"], 2],
  ["pipe", [...task, "--output-file", "pipe"], 2],
  ["pipe", ["import", "pipe"], 1],
  ["pipe", ["export", "--output", "pipe"], 1],
  ["pipe", ["team", "run", "go on", "--phases", "pipe", "-m", model], 2],
];

let victim: Victim;
beforeAll(async () => {
  victim = createVictim(users[0]!, "namespaces");
});
afterAll(() => victim.end());

test.each(rows.map(([path, args, code, prepare]) => ({ path, args, code, prepare, command: args.join(" ") })))(
  "a pipe as $path never blocks skein $command",
  async ({ path, args, code, prepare = "true" }) => {
    rmSync(join(victim.skein.root, "projects"), { recursive: true, force: true });
    const project = victim.project("pipes");
    if (args[0] === "export") expect((await victim.run(project, task)).code).toBe(0);
    expect(Bun.spawnSync(["sh", "-c", prepare], { cwd: project }).exitCode).toBe(0);
    mkdirSync(dirname(join(project, path)), { recursive: true });
    expect(Bun.spawnSync(["mkfifo", join(project, path)]).exitCode).toBe(0);
    const ran = await victim.run(project, args, { command: "true" });
    expect({ code: ran.code, err: ran.code === code ? "" : ran.err }).toEqual({ code, err: "" });
  },
);

for (const tier of tiers) {
  test(`git status shows nothing of skein's after a run and a plan under ${tier}, until skein init`, async () => {
    const clean = createVictim(users[0]!, tier);
    try {
      const project = clean.project("clean");
      rmSync(join(project, ".git"), { recursive: true });
      const git = (...args: string[]) => Bun.spawnSync(["git", ...args], { cwd: project, env: clean.skein.env }).stdout.toString();
      git("init", "--quiet");
      writeFileSync(join(project, "a.txt"), "a");
      git("add", "a.txt");
      const before = git("status", "--porcelain", "--untracked-files=all");
      for (const more of [[], ["--policy", "plan"]]) {
        expect((await clean.run(project, [...task, ...more], { command: "true" })).code).toBe(0);
        expect(git("status", "--porcelain", "--untracked-files=all")).toBe(before);
      }
      expect(existsSync(join(project, ".skein", "plan.md"))).toBe(true);
      expect((await clean.run(project, ["init"])).code).toBe(0);
      const added = git("status", "--porcelain", "--untracked-files=all").split("\n").slice(1, -1);
      expect(added.map((line) => line.slice(3)).toSorted()).toEqual([
        ".skein/.gitignore",
        ".skein/config.jsonc",
        ".skein/config.schema.json",
        "AGENTS.md",
      ]);
      expect(readdirSync(join(project, ".skein"))).toContain("plan.md");
    } finally {
      await clean.end();
    }
  });
}
