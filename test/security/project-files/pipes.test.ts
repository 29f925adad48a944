// A pipe in the place of a file never blocks skein: neither one that a project has, nor one that the user names.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createVictim, model, tiers, users, type Victim } from "./setup.ts";

const task = ["run", "go on", "-m", model, "--json"];

/** The place of the pipe, the command, and its exit code. */
const rows: [path: string, args: string[], code: number][] = [
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

test.each(rows.map(([path, args, code]) => ({ path, args, code, command: args.join(" ") })))(
  "a pipe as $path never blocks skein $command",
  async ({ path, args, code }) => {
    const project = victim.project("pipes");
    rmSync(project, { recursive: true, force: true });
    victim.project("pipes");
    if (args[0] === "export") expect((await victim.run(project, task)).code).toBe(0);
    mkdirSync(dirname(join(project, path)), { recursive: true });
    expect(Bun.spawnSync(["mkfifo", join(project, path)]).exitCode).toBe(0);
    const ran = await victim.run(project, args);
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
