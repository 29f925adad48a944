// The repositories of worktrees are in `.skein` of their project. A session of an outer project can write there in every tier.
// skein writes, reads and removes nothing outside of the project, and never waits for what a tool left there.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createVictim, model, secret, tiers, untouched, users, type Victim } from "../project-files/setup.ts";
import { smallRepository } from "../../support/worktree-journey.ts";

const repository = "pkg/.skein/worktrees/.repositories/feat.git";
const work = ["run", "work", "-w", "feat", "-m", model];

/** A tool of the outer project runs `attack`. The user then runs the commands in `pkg`. */
const rows: { name: string; attack: (home: string) => string; commands: string[][]; says?: string }[] = [
  {
    name: "a link as attributes",
    attack: (home) => `ln -sf ${home}/.bashrc ${repository}/info/attributes`,
    commands: [["merge", "feat", "--yes"]],
  },
  {
    name: "a link as index of the files",
    attack: (home) => `ln -sf ${home}/.ssh/id_ed25519 ${repository}/members/feat.index`,
    commands: [["worktrees"], ["merge", "feat", "--yes"]],
    // Before the check the key was copied to a file that tools can read, and git refused that copy.
    says: "feat.index is not skein's own file any more: it is a symbolic link",
  },
  {
    name: "a pipe as index of the files",
    attack: () => `rm ${repository}/members/feat.index; mkfifo ${repository}/members/feat.index`,
    commands: [["worktrees"], ["merge", "feat", "--yes"]],
  },
  {
    name: "a link as repository",
    attack: (home) => `mv ${repository} pkg/copy.git; ln -s ${home} ${repository}`,
    commands: [["worktrees"], ["merge", "feat", "--yes"], work],
  },
  {
    name: "a link as directory of all worktrees",
    attack: (home) => `rm -rf pkg/.skein/worktrees; ln -s ${home}/keep pkg/.skein/worktrees`,
    commands: [["worktrees", "clean", "feat", "--force", "--yes"], work],
  },
  {
    name: "a link as directory of all repositories",
    attack: (home) => `rm -rf pkg/.skein/worktrees/.repositories; ln -s ${home}/keep pkg/.skein/worktrees/.repositories`,
    commands: [work.with(3, "other"), ["worktrees", "clean", "feat", "--force", "--yes"]],
  },
  {
    name: "a link as template of clones",
    attack: (home) =>
      `rm -rf pkg/.skein/worktrees/feat ${repository}/template; mkdir -p ${repository}/template/info; ln -s ${home}/.bashrc ${repository}/template/info/attributes`,
    commands: [work],
  },
];

for (const tier of tiers)
  for (const person of users)
    describe(`${tier}, ${person.name}`, () => {
      let victim: Victim;
      beforeAll(() => {
        victim = createVictim(person, tier);
      });
      afterAll(() => victim.end());

      test.each(rows)(
        "$name in the repository of a worktree changes and reads nothing outside",
        async ({ attack, commands, says = "" }) => {
          const { home } = victim.skein;
          const outer = victim.project(`outer-${crypto.randomUUID().slice(0, 8)}`);
          const inner = join(outer, "pkg");
          mkdirSync(inner);
          smallRepository(inner);
          for (const path of ["feat", "feat.git", "other.git"]) mkdirSync(join(home, "keep", path), { recursive: true });
          for (const path of ["feat", "feat.git", "other.git"]) writeFileSync(join(home, "keep", path, "notes.txt"), "mine\n");
          for (const [path, content] of Object.entries(untouched)) writeFileSync(join(home, path), content);
          const before = namesBelow(home);
          expect((await victim.run(inner, work, { command: "echo agent > b.txt" })).code).toBe(0);
          const attacked = await victim.run(outer, ["run", "go on", "-m", model, "--json"], { command: attack(home) });
          expect({ code: attacked.code, err: attacked.code === 0 ? "" : attacked.err }).toEqual({ code: 0, err: "" });
          let text = "";
          for (const args of commands) {
            const ran = await victim.run(inner, args, { command: "true" });
            text += ran.out + ran.err;
          }
          expect(text).not.toContain(secret);
          expect(text).toContain(says);
          expect(victim.files()).toEqual(untouched);
          expect(namesBelow(home)).toEqual(before);
          expect(existsSync(join(inner, ".skein"))).toBe(true);
        },
      );
    });

/** All files of the home, without those of skein and of caches. */
function namesBelow(home: string): string[] {
  return readdirSync(home, { recursive: true, encoding: "utf8" })
    .filter((path) => !/^\.(local|config|cache)/.test(path) && lstatSync(join(home, path)).isFile())
    .toSorted();
}
