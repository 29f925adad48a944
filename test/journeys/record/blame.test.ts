// skein blame with the real program: lines of turns, of a person and of a merged worktree, and every kind of bad input.
import { afterAll, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blameReport, writtenNotes } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";
import { commitAll, runCommand, smallRepository } from "../../support/worktree-journey.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

test("blame names the turn of each line, also after a merge whose worktree was removed", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  await runCommand(skein, server, "echo 'the first line of an agent' >> a.txt", ["add a line", "--session", "first"]);
  commitAll(skein.project, "second");
  appendFileSync(join(skein.project, "a.txt"), "a line by hand\n");
  commitAll(skein.project, "third");
  await runCommand(skein, server, "echo 'this line was written in a worktree' >> a.txt", [
    "-w",
    "feat",
    "work aside",
    "--session",
    "aside",
  ]);
  expect((await skein.run(["merge", "aside", "--yes"])).code).toBe(0);
  expect((await skein.run(["worktrees", "clean"])).code).toBe(0);
  const printed = await skein.run(["blame", "a.txt", "--json"]);
  const { lines, turns, ...file } = blameReport.parse(printed.json());
  expect(file).toEqual({ project: skein.project, path: "a.txt", node: null });
  const names = new Map(turns.map(({ id, session_name: name, agent, prompt }) => [id, `${name} ${agent} ${prompt}`]));
  expect(lines.map(({ turns: [id] }) => (id === undefined ? null : names.get(id)!))).toEqual([
    null,
    null,
    null,
    "first native add a line",
    null,
    "aside native work aside",
  ]);
  const text = await skein.run(["blame", "a.txt:4-5"]);
  expect(text.out).toMatch(/^[0-9a-f]{8} native +4  the first line of an agent\nnot by an agent +5  a line by hand\n\n[0-9a-f]{8}  1 line/);
  const earlier = await skein.run(["blame", "a.txt", "--at", "first", "--json"]);
  expect(blameReport.parse(earlier.json()).lines.map(({ line }) => line)).toEqual([1, 2, 3, 4]);
});

test("a restored file keeps its writers, also if its path had the lines of another file in between", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const lines = (name: string) => [1, 2, 3].map((number) => `const ${name}${number} = computeSomethingUsefulFrom(${name}, options);`);
  const write = (file: string, name: string) =>
    `printf '%s\\n' ${lines(name)
      .map((line) => `'${line}'`)
      .join(" ")} > ${file}`;
  await runCommand(skein, server, write("a.ts", "first"), ["write a", "--session", "first"]);
  await runCommand(skein, server, write("b.ts", "other"), ["write b", "--session", "second"]);
  await runCommand(skein, server, "rm a.ts", ["delete a", "--session", "third"]);
  await runCommand(skein, server, "head -n 2 b.ts > a.ts; sed -i 1,2d b.ts", ["move lines to a", "--session", "fourth"]);
  const names = async () => {
    const { lines: blamed, turns } = blameReport.parse((await skein.run(["blame", "a.ts", "--json"])).json());
    return blamed.map(({ turns: [id] }) => turns.find((turn) => turn.id === id)?.session_name ?? null);
  };
  expect(await names()).toEqual(["second", "second"]);
  await runCommand(skein, server, write("a.ts", "first"), ["restore a", "--session", "fifth"]);
  expect(await names()).toEqual(["first", "first", "first"]);
}, 60_000);

test("a new file keeps its writer if a file that stays had the same content", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  writeFileSync(join(skein.project, "a.ts"), "}\n");
  const kept = ["first", "second"].map((name) => `const ${name} = computeSomethingUsefulFrom(options);`).join("\n");
  writeFileSync(join(skein.project, "b.ts"), `${kept}\n`);
  const command = "echo '}' > c.ts; sed -i '1i const added = 1;' a.ts; cp b.ts d.ts; echo '// more' >> b.ts";
  await runCommand(skein, server, command, ["add files", "--session", "s"]);
  const writers = async (file: string) =>
    blameReport.parse((await skein.run(["blame", file, "--json"])).json()).lines.map(({ turns }) => turns.length);
  expect([await writers("c.ts"), await writers("a.ts"), await writers("d.ts"), await writers("b.ts")]).toEqual([
    [1],
    [1, 0],
    [1, 1],
    [0, 0, 1],
  ]);
}, 60_000);

test("--notes writes the writers of each line into the notes of its commit, as git-ai reads them", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd: skein.project })
      .stdout.toString()
      .trim();
  const noteOf = (commit: string) => git("notes", "--ref=ai", "show", commit);
  await runCommand(skein, server, "echo 'the first line of an agent' >> a.txt", ["add a line", "--session", "first"]);
  appendFileSync(join(skein.project, "a.txt"), "a line by hand\n");
  commitAll(skein.project, "second");
  git("mv", "a.txt", "with space.txt");
  await runCommand(skein, server, "echo 'the second line of an agent' >> 'with space.txt'", ["add another", "--session", "second"]);
  commitAll(skein.project, "third");
  // The line that is not committed has no commit, so no note has it.
  appendFileSync(join(skein.project, "with space.txt"), "not committed\n");
  const [second, third] = [git("rev-parse", "HEAD^"), git("rev-parse", "HEAD")];
  const foreign = { schema_version: "authorship/3.0.0", base_commit_sha: second, prompts: { "0123456789abcdef": {} }, other: 1 };
  git("notes", "--ref=ai", "add", "-m", `b.txt\n  0123456789abcdef 1,3-4\n---\n${JSON.stringify(foreign)}`, second);
  // A program of the repository's configuration must not run.
  writeFileSync(join(skein.project, ".gitattributes"), "*.txt diff=evil\n");
  git("config", "diff.evil.textconv", `touch ${join(skein.project, "ran")};cat`);
  for (const hook of ["reference-transaction", "post-commit"])
    writeFileSync(join(skein.project, ".git", "hooks", hook), `#!/bin/sh\ntouch ${join(skein.project, "ran")}\n`, { mode: 0o755 });
  const before = git("for-each-ref");

  const printed = await skein.run(["blame", "with space.txt", "--notes", "--json"]);
  const { commits, ...rest } = writtenNotes.parse(printed.json());
  expect(rest).toEqual({ project: skein.project, path: "with space.txt", other_lines: 4 });
  expect(commits.map(({ commit, lines, is_changed: isChanged }) => [commit, lines, isChanged])).toEqual([
    [second, 1, true],
    [third, 1, true],
  ]);
  const sections = noteOf(third).split("\n---\n");
  expect(sections[0]).toMatch(/^"with space.txt"\n {2}s_[0-9a-f]{14}::t_[0-9a-f]{14} 6$/);
  const metadata = JSON.parse(sections[1]!) as { sessions: Record<string, { agent_id: { tool: string; id: string } }> };
  expect(metadata).toMatchObject({ schema_version: "authorship/3.0.0", base_commit_sha: third, prompts: {} });
  const session = /s_[0-9a-f]{14}/.exec(sections[0]!)![0];
  const { agent_id: agent } = metadata.sessions[session]!;
  const digest = new Bun.CryptoHasher("sha256").update(`${agent.tool}:${agent.id}`).digest("hex");
  expect([agent.tool, session]).toEqual(["skein", `s_${digest.slice(0, 14)}`]);
  // The note of another program keeps its lines and fields.
  expect(noteOf(second)).toMatch(/^a.txt\n {2}s_[^\n]* 4\nb.txt\n {2}0123456789abcdef 1,3-4\n---\n/);
  expect(JSON.parse(noteOf(second).split("\n---\n")[1]!)).toMatchObject(foreign);

  const again = writtenNotes.parse((await skein.run(["blame", "with space.txt", "--notes", "--json"])).json());
  expect(again.commits.map(({ is_changed: isChanged }) => isChanged)).toEqual([false, false]);
  expect((await skein.run(["blame", "with space.txt", "--notes"])).out).toContain(`${third.slice(0, 12)}  1 line  1 turn  unchanged`);
  // Only the one ref has moved, and nothing of the repository was run.
  const others = (refs: string) => refs.split("\n").filter((ref) => !ref.endsWith("refs/notes/ai"));
  expect(others(git("for-each-ref"))).toEqual(others(before));
  expect(existsSync(join(skein.project, "ran"))).toBe(false);
  expect(git("fsck", "--strict")).toBe("");
  git("notes", "--ref=ai", "add", "-f", "-m", "no log", third);
  const refused = await skein.run(["blame", "with space.txt", "--notes"]);
  expect([refused.code, refused.err.split("\n")[0]]).toEqual([2, expect.stringContaining("no authorship log that skein can extend")]);
  expect(noteOf(third)).toBe("no log");
});

test("bad input ends with one clear line", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  const refusal = async (...args: string[]) => {
    const { code, out, err } = await skein.run(["blame", ...args]);
    expect([code, out]).toEqual([2, ""]);
    return err.split("\n")[0]!;
  };
  expect(await refusal("a.txt")).toContain("no files were recorded");
  writeFileSync(join(skein.project, "binary"), "a\0b\n");
  writeFileSync(join(skein.project, "gone.txt"), "one\n");
  writeFileSync(join(skein.project, ".env"), "ignored\n");
  mkdirSync(join(skein.project, "folder"));
  symlinkSync("a.txt", join(skein.project, "link"));
  await runCommand(skein, server, "echo x >> a.txt; echo two >> gone.txt", ["change it"]);
  rmSync(join(skein.project, "gone.txt"));
  expect(await refusal("/etc/passwd")).toContain("/etc/passwd is outside of the project");
  expect(await refusal("../x")).toContain("outside of the project");
  expect(await refusal("binary")).toContain("binary is a binary file");
  expect(await refusal("gone.txt")).toContain("gone.txt was deleted, not by an agent");
  expect(await refusal(".env")).toContain(".env was never recorded");
  expect(await refusal("nothing")).toContain("nothing was never recorded");
  expect(await refusal("folder")).toContain("folder is a directory");
  expect(await refusal("link")).toContain("link is a symbolic link");
  expect(await refusal("a.txt:99")).toContain("a.txt has 4 lines, so there is no line 99");
  expect(await refusal("a.txt:0")).toContain("there are no lines 0");
  expect(await refusal("a.txt", "--at", "snapshot:1234567")).toContain("no writers");
  expect(await refusal("nothing", "--notes")).toContain("nothing is not in the latest commit");
  expect(await refusal("a.txt:1", "--notes")).toContain("--notes takes a whole file");
  expect(await refusal("../x", "--notes")).toContain("outside of the project");
});
