// The mail of a team is in `.skein` of its project. A session of an outer project can write there in every tier, and under
// landlock a session of the same project, too. Links that it leaves there while a team runs lead skein nowhere.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { smallRepository } from "../../support/worktree-journey.ts";
import { scriptFromPlayer } from "../../support/team-journey.ts";
import { createVictim, model, secret, tiers, untouched, users, type Victim } from "../project-files/setup.ts";

/** A tool of the outer project replaces a directory in the mail of a member, while the member works in `pkg`. */
const rows = [
  { name: "a link to keys as outbox", directory: "outbox" },
  { name: "a link to keys as directory of claimed files", directory: "taken" },
];

/** Exchanges a directory with a link in one call, so that the name is never missing. */
const exchange = (directory: string, target: string) =>
  `ln -s ${target} "$M/link"; touch "$M/outbox/a"; python3 -c 'import ctypes, sys; ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)' "$M/${directory}" "$M/link"`;

for (const tier of tiers)
  for (const person of users)
    describe(`${tier}, ${person.name}`, () => {
      let victim: Victim;
      beforeAll(() => {
        victim = createVictim(person, tier);
      });
      afterAll(() => victim.end());

      test.each(rows)(
        "$name in the mail of a team moves and reads nothing outside",
        async ({ directory }) => {
          const { home } = victim.skein;
          const outer = victim.project(`outer-${crypto.randomUUID().slice(0, 8)}`);
          const inner = join(outer, "pkg");
          mkdirSync(inner);
          smallRepository(inner);
          const names = readdirSync(join(home, ".ssh")).toSorted();
          // The command ends when the team stops.
          victim.server.setScript(scriptFromPlayer(() => ({ run: "touch working; while true; do sleep 0.1; done" })));
          await victim.run(outer, ["list"]); // gives the new files to the person
          victim.server.setScript(scriptFromPlayer(() => ({ run: "touch working; while true; do sleep 0.1; done" })));
          const team = victim.skein.start(["team", "run", "work", "--agents", "engineer", "-m", model], { cwd: inner });
          while ([...new Bun.Glob("pkg/.skein/teams/*/work/*/working").scanSync({ cwd: outer, dot: true })].length === 0)
            await Bun.sleep(20);
          victim.server.setScript(shellScript([`M=$(ls -d pkg/.skein/teams/*/mail/agent*); ${exchange(directory, `${home}/.ssh`)}`]));
          const attacked = await victim.skein.run(["run", "go on", "-m", model], { cwd: outer });
          expect({ code: attacked.code, err: attacked.code === 0 ? "" : attacked.err }).toEqual({ code: 0, err: "" });
          // Without the check the team continues and moves the key.
          while (team.exitCode === null && existsSync(join(home, ".ssh/id_ed25519"))) await Bun.sleep(20);
          team.kill();
          const [out, err] = await Promise.all([new Response(team.stdout).text(), new Response(team.stderr).text(), team.exited]);
          expect(existsSync(join(home, ".ssh/id_ed25519"))).toBe(true);
          expect([readdirSync(join(home, ".ssh")).toSorted(), victim.files()]).toEqual([names, untouched]);
          expect(Bun.spawnSync(["grep", "-rlF", secret, outer]).stdout.toString()).toBe("");
          expect(out + err).toContain("is not skein's own directory any more");
        },
        60_000,
      );
    });
