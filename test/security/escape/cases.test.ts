// Cases that need other files outside of the sandbox: worktrees, a repository that points at a foreign one, a project
// that skein has not seen yet, a fork bomb, and a signal to every process.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { vendorEnv, wireModels } from "../../support/temporary-home.ts";
import { buildOutside, type Outside } from "./outside.ts";
import { type Person, persons } from "./person.ts";
import { foreignCommand, outputOf } from "./runs.ts";

let server: ModelServer;
beforeAll(() => {
  server = startModelServer({ steps: [], final: "done" });
});
afterAll(() => server.stop());

const people = persons().filter((person) => person.uid === person.projectOwner);
const namespaces = { tier: "namespaces", policy: "workspace", net: "off" } as const;

describe.each(people)("as $name", (person) => {
  test("a signal to all processes ends only those in the sandbox", async () => {
    await within(person, async (outside) => {
      const command = foreignCommand(outside, namespaces, {
        command: ["/bin/bash", "-c", "sleep 60 & sleep 60 & kill -9 -1; wait; echo over"],
      });
      expect(await outputOf(outside, command, "namespaces")).toContain("over");
      expect(isAlive(outside.world.victim.pid)).toBe(true);
      await outputOf(outside, [...outside.skein, "new", "main", "-m", "ollama/none"], "namespaces");
      await outputOf(outside, [...outside.skein, "exec", "main", "sleep 60 & kill -9 -1; wait"], "namespaces");
      expect(isAlive(outside.world.victim.pid)).toBe(true);
      expect(await outputOf(outside, [...outside.skein, "exec", "main", "echo again"], "namespaces")).toContain("again");
    });
  });

  test("a fork bomb ends at a limit", async () => {
    await within(person, async (outside) => {
      const [bun, main] = outside.inside as [string, string];
      const forkBomb = ["/bin/bash", "-c", '"$@"; exit $?', "bash", bun, join(main, "../fork-bomb.ts"), "500"];
      const started = async (argv: string[]) => Number((await outputOf(outside, argv, "namespaces")).match(/(?<=STARTED )\d+/g)?.at(-1));
      expect(await started(foreignCommand(outside, namespaces, { command: forkBomb, maxProcesses: 400 }))).toBeWithin(1, 400);
      expect(await started(foreignCommand(outside, namespaces, { command: forkBomb }))).toBe(500);
    });
  });

  test("with unix sockets allowed, sockets at hidden paths and abstract sockets stay unreachable", async () => {
    await within(person, async (outside) => {
      const command = foreignCommand(outside, { ...namespaces, net: "on" }, { unixSockets: true });
      const output = await outputOf(outside, command, "namespaces");
      await outside.listen();
      const names = ["unix-home", "unix-docker", "unix-hidden", "unix-abstract"];
      expect({ received: names.filter((name) => outside.received.has(name)), output }).toEqual({
        received: ["unix-home", "unix-docker"],
        output,
      });
    });
  });

  test("in a linked worktree commits work, and hooks and config of the repository can't be changed", async () => {
    await within(person, async (outside) => {
      const { project } = outside.world;
      const side = join(outside.world.outside, "side");
      const attempt = (command: string) =>
        outputOf(
          outside,
          foreignCommand(outside, namespaces, { project: side, command: ["/bin/bash", "-c", `${command} && echo done`] }),
          "namespaces",
        );
      const commit = "echo x >file && git add file && git -c user.name=a -c user.email=a@b commit -qm side";
      expect(await attempt(commit)).toContain("done");
      expect(await attempt(`echo x >'${project}/.git/hooks/post-commit'`)).not.toContain("done");
      expect(await attempt("git config core.hooksPath .")).not.toContain("done");
      expect(await attempt(`echo x >'${project}/file'`)).not.toContain("done");
      expect(await attempt("echo 'gitdir: elsewhere' >.git")).not.toContain("done");
    });
  });

  test("a .git file that points at a foreign repository gives no access", async () => {
    await within(person, async (outside) => {
      const { project, outside: parent } = outside.world;
      const mine = join(parent, "mine");
      mkdirSync(mine);
      for (const gitdir of [join(project, ".git"), join(project, ".git/worktrees/side"), parent]) {
        writeFileSync(join(mine, ".git"), `gitdir: ${gitdir}\n`);
        const script = `echo x >'${project}/.git/new'; echo x >'${parent}/new'; echo tried`;
        const command = foreignCommand(outside, namespaces, { project: mine, command: ["/bin/bash", "-c", script] });
        expect(await outputOf(outside, command, "namespaces")).toContain("tried");
        expect([join(project, ".git/new"), join(parent, "new")].filter((path) => existsSync(path))).toEqual([]);
      }
    });
  });

  test("a tool can't create a config in a project that skein has not seen yet", async () => {
    await within(person, async (outside) => {
      const { project } = outside.world;
      for (const flags of [[], ["--ephemeral"], ["--transcript-dir", outside.world.home]]) {
        rmSync(join(project, ".skein"), { recursive: true });
        server.clear();
        server.setScript(shellScript(["mkdir -p .skein; echo '{}' >.skein/config.jsonc; echo tried"]));
        const run = [...outside.skein, "run", "go", "-m", wireModels.anthropic, ...flags];
        await outputOf(outside, run, "namespaces", vendorEnv(server.url));
        expect(server.main().at(-1)?.text).toContain("tried");
        expect({ flags, exists: existsSync(join(project, ".skein/config.jsonc")) }).toEqual({ flags, exists: false });
        mkdirSync(join(project, ".skein"), { recursive: true });
      }
    });
  });
});

async function within(person: Person, check: (outside: Outside) => Promise<void>): Promise<void> {
  const outside = await buildOutside(person, true);
  try {
    await check(outside);
  } finally {
    await outside.end();
  }
}

function isAlive(pid: number): boolean {
  return /^State:\s+[^ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}
