// A project may contain the directories where skein keeps its own settings, such as ~/.config. Tools can't change them: a setting
// could allow the next run everything.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createVictim, model, tiers, users, type Victim } from "./setup.ts";

const allowAll = `mkdir -p skein; echo '{ "policy": "full" }' > skein/config.jsonc`;

for (const tier of tiers)
  for (const person of users)
    describe(`${tier}, ${person.name}`, () => {
      let victim: Victim;
      let config = "";
      beforeAll(() => {
        victim = createVictim(person, tier, { SKEIN_HOME: "" });
        config = join(victim.skein.home, ".config");
        mkdirSync(config);
        Bun.spawnSync(["chown", String(person.uid), config]);
      });
      afterAll(() => victim.end());

      test("a tool can't create skein's own settings in a project that would contain them", async () => {
        const first = await victim.run(config, ["run", "go", "-m", model], { command: allowAll });
        const second = await victim.run(config, ["run", "go on", "-m", model, "--json"], { command: "true" });
        expect(existsSync(join(config, "skein/config.jsonc"))).toBe(false);
        if (tier === "landlock") {
          // Landlock can't hide a path in a writable directory.
          expect([first.code, second.code]).toEqual([9, 9]);
          expect(first.err).toMatch(/tools could change \S+skein, a directory of skein itself\n.*--policy readonly/);
        } else expect([first.code, (second.json()["enforced"] as { policy: string }).policy]).toEqual([0, "workspace"]);
      });

      test.each(["config", "state", "data", "config/inner"])("a run in skein's own directory %s is refused", async (name) => {
        const directory = join(victim.skein.root, `own-${tier}`, name);
        mkdirSync(directory, { recursive: true });
        Bun.spawnSync(["chown", "-R", String(person.uid), join(victim.skein.root, `own-${tier}`)]);
        const env = { SKEIN_HOME: join(victim.skein.root, `own-${tier}`) };
        const ran = await victim.skein.run(["run", "go", "-m", model], { cwd: directory, env });
        expect([ran.code, ran.err]).toEqual([9, expect.stringContaining("a directory of skein itself")]);
      });

      test("a link to skein's own settings that a tool could replace is refused", async () => {
        const [dotfiles, settings] = [victim.project(`dotfiles-${tier}`), join(victim.skein.root, "projects", `settings-${tier}`)];
        mkdirSync(settings);
        symlinkSync(settings, join(dotfiles, "skein"));
        writeFileSync(join(settings, "config.jsonc"), "{}");
        Bun.spawnSync(["chown", "-R", String(person.uid), settings]);
        const env = { XDG_CONFIG_HOME: dotfiles };
        const ran = await victim.skein.run(["run", "go", "-m", model], { cwd: dotfiles, env });
        expect([ran.code, ran.err]).toEqual([9, expect.stringContaining(`tools could change ${join(dotfiles, "skein")}`)]);
        const readonly = await victim.skein.run(["run", "go", "-m", model, "--policy", "readonly"], { cwd: dotfiles, env });
        expect({ code: readonly.code, err: readonly.code === 0 ? "" : readonly.err }).toEqual({ code: 0, err: "" });
      });
    });
