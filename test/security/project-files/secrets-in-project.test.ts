// A secret of the user is in the project, because a variable names it. Tools can't read it there. They try to move it, or to make
// skein copy or read it for them. A person merges their work; hooks must not come along unseen.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Script } from "../../../src/scripted-model/script.ts";
import { createVictim, give, model, secret, users, type Victim } from "./setup.ts";

const task = ["run", "go on", "-m", model, "--json"];

describe.each(users)("$name, namespaces", (person) => {
  let victim: Victim;
  let project = "";
  const git = (...args: string[]) => {
    const identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    const child = Bun.spawnSync([...person.prefix, "git", "-C", project, ...identity, ...args], { env: { ...victim.skein.env } });
    return { code: child.exitCode, text: child.stdout.toString() + child.stderr.toString() };
  };
  const run = (args: string[], script: string | Script, env: Record<string, string> = {}) => {
    if (typeof script === "string") victim.server.setScript({ steps: [{ calls: [{ input: { command: script } }] }], final: "done" });
    else victim.server.setScript(script);
    const variables = { KUBECONFIG: join(project, "conf/kube"), GOOGLE_APPLICATION_CREDENTIALS: join(project, "key.json"), ...env };
    return victim.skein.run(args, { cwd: project, env: variables });
  };
  /** All that tools have read was sent to the model. */
  const expectUnread = () => expect(victim.server.requests.filter(({ text }) => text.includes(secret))).toEqual([]);
  const expectNoCopy = () => {
    const worktrees = join(project, ".skein/worktrees");
    const names = existsSync(worktrees) ? readdirSync(worktrees, { recursive: true, encoding: "utf8" }) : [];
    expect(names.filter((name) => /(^|\/)(key\.json|kube)$/.test(name))).toEqual([]);
  };

  beforeAll(() => {
    victim = createVictim(person, "namespaces");
    project = victim.project("app", { "conf/kube": `${secret}\n`, "a.txt": "a\n", ".husky/pre-commit": "#!/bin/sh\ntrue\n" });
    Bun.spawnSync([...person.prefix, "chmod", "+x", join(project, ".husky/pre-commit")]);
    git("init", "-q", "-b", "main");
    git("add", "a.txt", ".husky");
    git("commit", "-qm", "first");
    git("config", "core.hooksPath", ".husky");
    writeFileSync(join(project, ".git/info/exclude"), "key.json\n");
  });
  afterAll(() => victim.end());

  test("a tool can't rename the directory around a secret, so the next turn can't read it at a new path", async () => {
    await run(task, "mv conf moved; mv conf/kube conf/other; true");
    await run(task, "cat moved/kube conf/kube conf/other; true");
    expect(readdirSync(join(project, "conf"))).toEqual(["kube"]);
    expectUnread();
  }, 120_000);

  test("no worktree gets a secret: an ignored one by .worktreeinclude, or a recorded one by a fork", async () => {
    const named = await run(task, "echo key.json >.worktreeinclude");
    expect(named.code).toBe(0);
    writeFileSync(join(project, "key.json"), `{"key":"${secret}"}\n`);
    Bun.spawnSync(["chown", `${person.uid}`, join(project, "key.json")]);
    const opened = await run([...task, "-w", "first"], "cat key.json conf/kube; true");
    expect({ code: opened.code, err: opened.err }).toEqual({
      code: 0,
      err: expect.stringContaining("key.json is a secret that tools can't read, so the worktree does not get it"),
    });
    const recorded = await run([...task, "--session", "recorded"], "echo new >new.txt");
    expect(recorded.err).not.toContain("not recorded");
    expect(await run(["fork", "recorded", "-w", "second"], "true")).toMatchObject({ code: 0 });
    expect(readFileSync(join(project, ".skein/worktrees/second/new.txt"), "utf8")).toBe("new\n");
    await run([...task, "-w", "second"], "cat key.json conf/kube; true");
    expectNoCopy();
    expectUnread();
  }, 120_000);

  test("a tool can't name a file of the user as the script of a replay model", async () => {
    const token = join(victim.skein.home, ".ssh/id_ed25519");
    writeFileSync(token, "TOKEN_IN_ONE_WORD\n");
    const attempts: Record<string, string>[] = [
      { model: `replay/${token}` },
      { agent: `replay/${token}` },
      { provider: "replay", model: token },
    ];
    const calls = attempts.map((attempt) => ({ name: "spawn_session", input: { task: "hi", ...attempt } }));
    await run(task, { steps: [{ calls }], final: "done" });
    expect(victim.server.requests.filter(({ text }) => text.includes("TOKEN_IN_ONE_WORD"))).toEqual([]);
  }, 120_000);

  test("export follows no link that leads out of the project", async () => {
    const target = join(victim.skein.home, ".config/autostart");
    mkdirSync(target, { recursive: true });
    await run([...task, "--session", "exported"], `ln -s ${target} out`);
    const exported = await run(["export", "exported", "-o", "out/x.html", "--format", "html"], "true");
    expect({ code: exported.code === 0, err: exported.err }).toEqual({
      code: false,
      err: expect.stringContaining("name its target instead"),
    });
    expect(readdirSync(target)).toEqual([]);
  }, 120_000);

  test("export and replay follow no link in a directory that tools of an earlier run could write", async () => {
    const target = join(victim.skein.home, ".config/user-units");
    const shared = join(victim.skein.root, "projects", "elsewhere");
    for (const directory of [target, shared]) mkdirSync(directory, { recursive: true });
    for (const directory of [join(victim.skein.home, ".config"), shared]) give(directory, person);
    await run([...task, "--session", "linked", "--add-dir", shared, "--allow-write", shared], `ln -s ${target} ${shared}/out`);
    expect(readdirSync(shared)).toEqual(["out"]);
    for (const args of [
      ["export", "linked", "-o", join(shared, "out/x.md")],
      ["replay", "linked", "--svg", join(shared, "out/x.svg")],
    ])
      expect((await run(args, "true")).err).toContain("name its target instead");
    expect(readdirSync(target)).toEqual([]);
  }, 120_000);

  test("a hook that a worktree brings along is merged only after an answer", async () => {
    const mark = join(victim.skein.root, `hook-ran-${person.name}`);
    await run([...task, "-w", "hooks"], `echo 'touch ${mark}' >>.husky/pre-commit; echo b >b.txt`);
    const merged = await run(["merge", "hooks", "--yes"], "true");
    expect({ code: merged.code, err: merged.err }).toEqual({
      code: 2,
      err: expect.stringContaining("git runs or obeys: .husky/pre-commit"),
    });
    const agents = `native:${model},native:openai/gpt-5.2`;
    const raced = await run(
      ["race", "go on", "-a", agents, "--check", "true", "--adopt-first-passing"],
      `echo 'touch ${mark}' >>.husky/pre-commit`,
    );
    expect(raced.code).not.toBe(0);
    expect(raced.out + raced.err).toContain("git runs or obeys: .husky/pre-commit");
    git("commit", "-qam", "second", "--allow-empty");
    expect(existsSync(mark)).toBe(false);
    expect(existsSync(join(project, "b.txt"))).toBe(false);
  }, 120_000);
});
