import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseGitConfig, pathsNamedBy, programSettings } from "./git-config.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-git-config-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const owners = [process.getuid?.() ?? 0];

describe("reading", () => {
  test("settings are read as git reads them: quotes, escapes, comments, continued lines and headers on the same line", () => {
    const text = [
      "# a comment \\",
      '[Core] Editor = "vim # x" ; comment \\',
      "\tpager = a\\",
      'b "c\\"d"',
      '[filter "L.fs"] clean = x\\ty',
      "\tsmudge",
      "=broken",
      "[include]path=../shared",
    ].join("\n");
    const file = join(root, "parsed");
    const valid = text.replace("=broken\n", "");
    writeFileSync(file, valid);
    const listed = Bun.spawnSync(["git", "config", "--file", file, "--list", "-z"]).stdout.toString();
    const byGit = listed
      .split("\0")
      .filter(Boolean)
      .map((entry) => {
        const [key, value = "true"] = entry.split("\n");
        return { key: key!, value };
      });
    expect(byGit).toHaveLength(5);
    expect(parseGitConfig(valid)).toEqual(byGit);
    expect(parseGitConfig(text)).toEqual(byGit);
  });

  test("only settings that run a program are named", () => {
    const harmless = '[core]\nfsmonitor = true\nbare = false\n[alias]\nst = status\n[pager]\nlog = off\n[remote "o"]\nurl = https://x\n';
    expect(programSettings(parseGitConfig(harmless))).toEqual([]);
    const harmful =
      '[core]\nfsmonitor = ./x\nhooksPath = h\nsshCommand = s\n[alias]\nst = !x\n[filter "a.b"]\nprocess = p\n[diff]\nexternal = d\n[includeIf "gitdir:/x"]\npath = p\n[remote "o"]\nurl = ext::sh\n[pager]\nlog = ./p\n[alias]\nother = -c core.editor=x commit\nlg = log -n 3\n[lfs "extension.x"]\nclean = c\n';
    expect(programSettings(parseGitConfig(harmful)).map(({ key }) => key)).toEqual([
      "core.fsmonitor",
      "core.hookspath",
      "core.sshcommand",
      "alias.st",
      "filter.a.b.process",
      "diff.external",
      "includeif.gitdir:/x.path",
      "remote.o.url",
      "pager.log",
      "alias.other",
      "lfs.extension.x.clean",
    ]);
  });
});

describe("named paths", () => {
  test("hooks directories and included files are found through includes, and a cycle ends", () => {
    const config = join(root, "a", "config");
    mkdirSync(join(root, "a"));
    writeFileSync(config, "[include]\n\tpath = ../more\n[core]\n\thooksPath = .husky/_\n");
    writeFileSync(join(root, "more"), `[include]\n\tpath = a/config\n\tpath = ~/mine\n[core]\n\thooksPath = /h/\n`);
    const named = pathsNamedBy([config], { worktrees: ["/p", "/q"], home: "/me", owners });
    expect(named.hooks.toSorted()).toEqual(["/h", "/p/.husky", "/q/.husky"]);
    expect(named.includes.toSorted()).toEqual(["/me/mine", config, join(root, "more")].toSorted());
  });

  test("a pipe, a huge file and a missing file name nothing and do not block", () => {
    const [pipe, huge] = [join(root, "pipe"), join(root, "huge")];
    Bun.spawnSync(["mkfifo", pipe]);
    writeFileSync(huge, `[core]\nhooksPath = x\n${"#".repeat(1 << 20)}`);
    expect(pathsNamedBy([pipe, huge, join(root, "none")], { worktrees: ["/p"], home: "/me", owners })).toEqual({
      hooks: [],
      includes: [],
      programs: [],
    });
  });
});

test("a section that never ends is read in linear time", () => {
  // A pattern that goes back for each space would take hours.
  const endless = ["[", "[a", '[a "'].map((start) => start + " ".repeat(1 << 20));
  for (const text of endless) expect(parseGitConfig(`${text}\n[core]\n\teditor = vi\n`)).toEqual([{ key: "core.editor", value: "vi" }]);
});
