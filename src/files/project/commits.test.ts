// Reads the log of real repositories, also of hostile ones.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readCommits } from "./commits.ts";
import { listFiles } from "./list-files.ts";
import { plainGit } from "../fixtures/plain-git.ts";
import { programPath as path, testProject, writeAll } from "../fixtures/project.ts";

test("commits have subject, body and files, latest first", async () => {
  using temp = testProject();
  const { project, git } = temp;
  git("init", "-q", "-b", "main");
  writeAll(temp, { "a.ts": "1", "docs/ü b.md": "2" });
  git("add", ".");
  git("commit", "-qm", "Begin\n\nBecause of this\nand that");
  git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "");
  writeAll(temp, { "a.ts": "3" });
  git("commit", "-qam", "Third");
  const { commits, note } = await readCommits({ project, git: plainGit });
  expect(note).toBeNull();
  expect(commits.map(({ author, subject, body, files }) => ({ author, subject, body, files }))).toEqual([
    { author: "a", subject: "Third", body: "", files: ["a.ts"] },
    { author: "a", subject: "", body: "", files: [] },
    { author: "a", subject: "Begin", body: "Because of this\nand that", files: ["a.ts", "docs/ü b.md"] },
  ]);
  for (const { id, at } of commits) expect([/^[0-9a-f]{40}$/.test(id), Math.abs(Date.now() - at) < 60_000]).toEqual([true, true]);
});

test("a missing or empty repository is reported in a note", async () => {
  const none = "no commits were searched: the project has no repository with commits that git can read";
  using temp = testProject();
  const { project, git } = temp;
  expect(await readCommits({ project, git: plainGit })).toEqual({ commits: [], note: none });
  git("init", "-q", "-b", "main");
  expect(await readCommits({ project, git: plainGit })).toEqual({ commits: [], note: none });
  git("commit", "-q", "--allow-empty", "-m", "One");
  expect((await readCommits({ project, git: plainGit })).commits.length).toBe(1);
  expect(await readCommits({ project, git: () => Promise.reject(new Error("no git")) })).toEqual({ commits: [], note: none });
});

test("no program that a repository configures is run", async () => {
  using temp = testProject();
  const { project, git } = temp;
  git("init", "-q", "-b", "main");
  const proof = join(project, "proof");
  const script = join(project, "run.sh");
  writeAll(temp, { "run.sh": `#!/bin/sh\ntouch ${proof}\n`, "a.bin": "x", ".gitattributes": "* diff=evil filter=evil\n" });
  Bun.spawnSync(["chmod", "+x", script]);
  git("add", ".");
  git("commit", "-qm", "First");
  const keys = [
    "core.fsmonitor",
    "core.pager",
    "gpg.program",
    "diff.external",
    "diff.evil.textconv",
    "diff.evil.command",
    "core.sshCommand",
  ];
  for (const key of [...keys, "filter.evil.clean", "filter.evil.smudge", "core.hooksPath"]) git("config", key, script);
  git("config", "log.showSignature", "true");
  git("config", "extensions.partialClone", "origin");
  git("config", "remote.origin.url", `ext::${script}`);
  git("config", "protocol.ext.allow", "always");
  const { commits } = await readCommits({ project, git: plainGit });
  const listed = await listFiles({ items: ["."], directory: project, project, git: plainGit });
  expect([commits.length, listed.includes("a.bin"), existsSync(proof)]).toEqual([1, true, false]);
  // The same repository, read by a git that trusts it.
  Bun.spawnSync(["git", "status"], { cwd: project, env: { PATH: path, HOME: temp.root } });
  expect(existsSync(proof)).toBe(true);
});
