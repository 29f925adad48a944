// A new worktree that works at once: ignored files, the setup command, and a port of its own.
import { afterAll, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { worktreeInfo } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { git } from "../../support/team-journey.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";
import { commitAll, readIn, runCommand, smallRepository } from "../../support/worktree-journey.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

test("--with-ignored links node_modules and copies .env, tools can't write through the link, and the merge has neither", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  writeFileSync(join(skein.project, ".env"), "SECRET=1\n");
  mkdirSync(join(skein.project, "node_modules", "left"), { recursive: true });
  writeFileSync(join(skein.project, "node_modules", "left", "index.js"), "left\n");
  const command =
    "cat .env node_modules/left/index.js; echo broken > node_modules/left/index.js; echo new > node_modules/x; echo ok > b.txt; git status --porcelain";
  await runCommand(skein, server, command, ["-w", "feat", "--with-ignored", "look"]);
  const request = server.main().at(-1)?.text ?? "";
  expect(request).toContain("SECRET=1\\nleft\\n");
  expect(request).not.toContain("?? node_modules");
  expect(readIn(skein.project, "node_modules/left/index.js", "node_modules/x")).toEqual(["left\n", null]);
  const place = join(skein.project, ".skein", "worktrees", "feat");
  expect([lstatSync(join(place, "node_modules")).isSymbolicLink(), lstatSync(join(place, ".env")).isFile()]).toEqual([true, true]);
  const forked = await skein.run(["fork", "-w", "second"]);
  expect(forked.code).toBe(0);
  expect(existsSync(join(skein.project, ".skein", "worktrees", "second", "node_modules"))).toBe(false);
  expect((await skein.run(["merge", "feat", "--yes", "--stat"])).out).toBe("A b.txt  +1 -0\n");
  expect(lstatSync(join(skein.project, "node_modules")).isDirectory()).toBe(true);
});

test(".worktreeinclude copies ignored files that it names, and hostile entries are left out or refused", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  writeFileSync(join(skein.root, "outside"), "outside\n");
  for (const [name, text] of Object.entries({ ".env": "A=1\n", ".env.local": "not ignored\n", "conf/.env": "B=2\n" })) {
    mkdirSync(join(skein.project, name, ".."), { recursive: true });
    writeFileSync(join(skein.project, name), text);
  }
  mkdirSync(join(skein.project, "linked"));
  symlinkSync(join(skein.root, "outside"), join(skein.project, "linked", ".env"));
  writeFileSync(join(skein.project, ".worktreeinclude"), ".env*\n../outside\n/../../etc/passwd\n");
  commitAll(skein.project, "second");
  const done = await runCommand(skein, server, "true", ["-w", "feat", "look"]);
  const place = join(skein.project, ".skein", "worktrees", "feat");
  expect(readIn(place, ".env", "conf/.env", "linked/.env", "outside")).toEqual(["A=1\n", "B=2\n", null, null]);
  expect(done.stderr).toContain('"../outside" in .worktreeinclude leads out of the project and names no file');
  expect(done.stderr).toContain("linked/.env is no regular file, so the worktree does not get it");

  writeFileSync(join(skein.project, ".gitignore"), "many/\n");
  mkdirSync(join(skein.project, "many"));
  for (let index = 0; index <= 2_000; index++) writeFileSync(join(skein.project, "many", String(index)), "");
  writeFileSync(join(skein.project, ".worktreeinclude"), "many\n");
  const refused = await skein.run(["run", "-m", wireModels.anthropic, "-w", "other", "look"]);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("2,001 ignored files are too many for a worktree")]);
  expect(existsSync(join(skein.project, ".skein", "worktrees", "other"))).toBe(false);
});

test("the setup command of the user's config runs once, is recorded, and a failure sends no request", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  const setup = "echo setup $SKEIN_PORT >> setup.log; test -f ready";
  expect((await skein.run(["config", "set", "worktree_setup", setup])).code).toBe(0);
  const requests = server.main().length;
  const failed = await skein.run(["run", "-m", wireModels.anthropic, "-w", "feat", "look", "--session", "s"]);
  expect([failed.code, failed.err]).toEqual([expect.any(Number), expect.stringContaining("worktree_setup failed in")]);
  expect([failed.code === 0, server.main().length]).toEqual([false, requests]);
  const place = join(skein.project, ".skein", "worktrees", "feat");
  writeFileSync(join(place, "ready"), "");
  await runCommand(skein, server, "echo port $SKEIN_PORT", ["look", "--session", "s"]);
  await runCommand(skein, server, "true", ["again", "--session", "s"]);
  const [info] = worktreeInfo.array().parse((await skein.run(["worktrees", "--json"])).json());
  expect(readFileSync(join(place, "setup.log"), "utf8")).toBe(`setup ${info?.port}\n`.repeat(2));
  expect(server.main().at(-1)?.text).toContain("test -f ready");
});

test("the setup command of a project runs only after the project was trusted", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  mkdirSync(join(skein.project, ".skein"), { recursive: true });
  writeFileSync(join(skein.project, ".skein", "config.jsonc"), '{ "worktree_setup": "echo ran > setup.log" }\n');
  await runCommand(skein, server, "true", ["-w", "one", "look"]);
  expect(readIn(join(skein.project, ".skein", "worktrees", "one"), "setup.log")).toEqual([null]);
  expect((await skein.run(["trust"])).code).toBe(0);
  await runCommand(skein, server, "true", ["-w", "two", "look"]);
  expect(readIn(join(skein.project, ".skein", "worktrees", "two"), "setup.log")).toEqual(["ran\n"]);
  expect(git(skein.project, "status", "--porcelain")).not.toContain("setup.log");
});
