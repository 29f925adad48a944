// Each attempt makes the user's own git run a program, or reads a secret, unless skein's guards hold. The effect counts: a
// file that only a program outside of the sandbox can create.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { vendorEnv, wireModels } from "../../support/temporary-home.ts";
import { persons } from "../escape/person.ts";
import { guardAttacks, type GuardAttack, type Tier } from "./attacks.ts";
import { openWorld, type GuardWorld } from "./world.ts";

const cases = persons()
  .filter((person) => person.uid === person.projectOwner)
  .flatMap((person) =>
    guardAttacks.flatMap((attack) => attack.tiers.map((tier) => ({ person, who: person.name, attack, what: attack.name, tier }))),
  );

/** Longer than skein needs to stop the call. An attempt that is not stopped goes on after it. */
const stopMs = 5_000;

describe("an attempt has no effect outside", () => {
  test.each(cases)("as $who, $tier: $what", async ({ person, attack, tier }) => {
    await using world = openWorld(person, tier, attack.env);
    world.outside(attack.prepare ?? "true");
    const ran = await runInside(world, attack);
    world.outside(attack.after);
    expect({ isPlanted: existsSync(world.planted), ran }).toEqual({ isPlanted: false, ran });
    if (attack.report !== undefined) expect(ran.text).toMatch(attack.report);
    if (attack.isRefused) expect(ran.code).toBe(9);
  });
});

async function runInside(world: GuardWorld, attack: GuardAttack): Promise<{ code: number; text: string }> {
  const { earlier, inside, meanwhile = "true", flags, report } = attack;
  if (earlier !== undefined) await world.startTool(earlier);
  const running = world.startTool(inside, world.project, flags);
  const ended = running.then(() => true);
  while (inside.includes("wait;") && !existsSync(world.waiting) && !(await Promise.race([ended, Bun.sleep(20)]))) continue;
  world.outside(meanwhile);
  await Promise.race([ended, Bun.sleep(inside.includes("wait;") && report !== undefined ? stopMs : 0)]);
  writeFileSync(world.go, "");
  return running;
}

const tiers: Tier[] = ["namespaces", "landlock"];

test.each(tiers)(
  "%s: attempts succeed without a sandbox, which shows that they work",
  async (tier) => {
    const [person] = persons();
    for (const attack of guardAttacks.filter(
      (row) => row.tiers.includes(tier) && (tier === "landlock" || !row.tiers.includes("landlock")),
    )) {
      await using world = openWorld(person!, "none", attack.env);
      world.outside(attack.prepare ?? "true");
      await runInside(world, attack);
      world.outside(attack.after);
      expect({ name: attack.name, isPlanted: existsSync(world.planted) }).toEqual({ name: attack.name, isPlanted: true });
    }
  },
  240_000,
);

test("the next call of a turn gets a sandbox that protects the new file", async () => {
  const [person] = persons();
  await using world = openWorld(person!, "namespaces");
  const wait = `touch ${world.waiting}; while [ ! -e ${world.go} ]; do sleep 0.05; done`;
  const server = startModelServer(shellScript([wait, "echo '[core] editor = evil' >> .git/config; echo after"]));
  try {
    const ran = world.home.run(["run", "go", "-m", wireModels.anthropic], { env: vendorEnv(server.url) });
    while (!existsSync(world.waiting)) await Bun.sleep(20);
    world.outside("git config core.editor vim");
    expect((await ran).code).toBe(0);
    expect(server.main()[1]?.text).toContain("config was replaced outside of the sandbox; the call was stopped");
    expect(server.main()[2]?.text).toMatch(/Read-only file system[^]*after/);
    expect(readFileSync(join(world.project, ".git", "config"), "utf8")).not.toContain("evil");
  } finally {
    await server.stop();
  }
});

test("an agent's own CLI is stopped when a protected file is replaced", async () => {
  const [person] = persons();
  await using world = openWorld(person!, "namespaces");
  const script = join(world.home.root, "cli");
  const wait = `touch ${world.waiting}; while [ ! -e ${world.go} ]; do sleep 0.05; done`;
  writeFileSync(script, `#!/bin/sh\n${wait}; echo '[core] editor = evil' >> .git/config\n`, { mode: 0o755 });
  const configDir = join(world.home.env["SKEIN_HOME"]!, "config");
  mkdirSync(configDir, { recursive: true });
  writeFileSync(join(configDir, "config.jsonc"), JSON.stringify({ agents: { mine: { command: script } } }));
  const ran = world.home.run(["run", "go", "-a", "mine"], { env: vendorEnv("http://127.0.0.1:9") });
  while (!existsSync(world.waiting)) await Bun.sleep(20);
  world.outside("git config core.editor vim");
  const { code, err } = await ran;
  expect(err).toMatch(/config was replaced outside of the sandbox; mine was stopped to keep it protected/);
  expect(code).toBe(9);
  expect(readFileSync(join(world.project, ".git", "config"), "utf8")).not.toContain("evil");
});

test("a session in a worktree keeps the protection of commondir when the session that created it ends", async () => {
  const [person] = persons();
  await using world = openWorld(person!, "namespaces");
  world.outside('git worktree add -q "$world/linked"');
  const first = world.startTool(`touch ${join(world.project, "first")}; wait`);
  while (!existsSync(join(world.project, "first"))) await Bun.sleep(20);
  const linked = join(world.home.root, "linked");
  const hold = (name: string) => `touch ${linked}/${name}; while [ ! -e ${linked}/go ]; do sleep 0.05; done`;
  const second = world.startTool(
    `${hold("second")}; mkdir -p ${world.project}/.git/evil; echo evil > ${world.project}/.git/commondir`,
    linked,
  );
  while (!existsSync(join(linked, "second"))) await Bun.sleep(20);
  writeFileSync(world.go, "");
  await first;
  writeFileSync(join(linked, "go"), "");
  await second;
  expect(
    existsSync(join(world.project, ".git", "commondir")) ? readFileSync(join(world.project, ".git", "commondir"), "utf8") : "",
  ).not.toContain("evil");
});

test("a change of settings that run programs is reported under landlock, with its keys, and stored", async () => {
  const [person] = persons();
  await using world = openWorld(person!, "landlock");
  const ran = await world.startTool("git config core.sshCommand evil; git config user.name me; echo x > .git/hooks/pre-push");
  expect(ran.text).toMatch(/\.git\/config changed during this turn and now makes git run: core\.sshcommand;/);
  expect(ran.text).toMatch(/\.git\/hooks changed during this turn and now makes git run: pre-push;/);
  expect((await world.home.run(["show", "main"])).out).toContain(".git/config changed during");
});

test("repositories that name no program stay, and placeholders are removed", async () => {
  const [person] = persons();
  await using world = openWorld(person!, "namespaces");
  world.outside("git config include.path ../shared/gitconfig; git config --global core.hooksPath tools/githooks");
  const ran = await world.startTool("git init -q sub; git -C sub commit -q --allow-empty -m one; ls -d shared tools");
  expect(ran.text).not.toContain("moved aside");
  expect(ran.text).toMatch(/shared\ntools/);
  expect(existsSync(join(world.project, "sub", ".git"))).toBe(true);
  for (const name of ["shared", "tools"]) expect(existsSync(join(world.project, name))).toBe(false);
});

test("--allow-write accepts a link, and readonly does not refuse it", async () => {
  const [person] = persons();
  await using world = openWorld(person!, "namespaces");
  world.outside("mv .git repository && ln -s repository .git");
  expect((await world.startTool("true", world.project, ["--policy", "readonly"])).code).toBe(0);
  expect((await world.startTool("true", world.project, ["--allow-write", ".git"])).code).toBe(0);
});
