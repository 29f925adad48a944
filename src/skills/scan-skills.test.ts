import { afterAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SkillList } from "../protocol/api/api.ts";
import { scanSkills, type ScanSkillsOptions } from "./scan-skills.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-skills-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

type Setup = {
  home: string;
  project: string;
  write: (path: string, text: string) => string;
  scan: (options?: Partial<ScanSkillsOptions>) => SkillList;
};

/** Paths are relative to the home directory; the project is `work`. */
function createSetup(files: Record<string, string> = {}): Setup {
  const home = join(root, String((count += 1)));
  const project = join(home, "work");
  mkdirSync(project, { recursive: true });
  const write = (path: string, text: string): string => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
    return join(home, path);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  const scan = (options: Partial<ScanSkillsOptions> = {}): SkillList =>
    scanSkills({ directory: project, project, home, configDir: join(home, ".config", "skein"), trusted: false, ...options });
  return { home, project, write, scan };
}

function skill(name: string, more = ""): string {
  return `---\nname: ${name}\ndescription: About ${name}.\n${more}---\n\n# Body\n`;
}

const names = (list: SkillList): string[] => list.skills.map((entry) => entry.name);
const messages = (list: SkillList): string[] => list.problems.map((problem) => problem.message);

describe("sources of skills", () => {
  test("missing directories give no skills and no problems", () => {
    expect(createSetup().scan()).toEqual({ skills: [], problems: [] });
  });

  test("skills of the project and of the user are listed in order of precedence", () => {
    const { scan, home } = createSetup({
      "work/.skein/skills/a/SKILL.md": skill("a"),
      "work/deep/down/.agents/skills/b/SKILL.md": skill("b"),
      "work/.agents/skills/c/SKILL.md": skill("c"),
      "work/.claude/skills/d/SKILL.md": skill("d"),
      ".config/skein/skills/e/SKILL.md": skill("e"),
      ".agents/skills/f/SKILL.md": skill("f"),
      ".claude/skills/g/SKILL.md": skill("g"),
    });
    const list = scan({ directory: join(home, "work/deep/down"), trusted: true });
    expect(list.problems).toEqual([]);
    expect(list.skills.map((entry) => [entry.name, entry.scope, entry.trusted])).toEqual([
      ["a", "project", true],
      ["b", "project", false],
      ["c", "project", true],
      ["d", "project", true],
      ["e", "user", true],
      ["f", "user", true],
      ["g", "user", true],
    ]);
    expect(list.skills[0]).toEqual({
      name: "a",
      description: "About a.",
      path: join(home, "work/.skein/skills/a/SKILL.md"),
      scope: "project",
      trusted: true,
    });
  });

  test("directories outside of the project are not searched", () => {
    expect(names(createSetup({ "elsewhere/.agents/skills/x/SKILL.md": skill("x") }).scan())).toEqual([]);
  });

  test("skills of the user stay the user's if the project is the home directory", () => {
    const { scan, home } = createSetup({ ".agents/skills/f/SKILL.md": skill("f") });
    expect(scan({ directory: home, project: home }).skills).toMatchObject([{ name: "f", scope: "user", trusted: true }]);
  });

  test("skills of an untrusted project are listed as untrusted", () => {
    expect(createSetup({ "work/.skein/skills/a/SKILL.md": skill("a") }).scan().skills).toMatchObject([{ name: "a", trusted: false }]);
  });
});

describe("skills with the same name", () => {
  test("a skill of the project overrides one of the user with the same name, which is reported", () => {
    const { scan, home } = createSetup({ "work/.skein/skills/a/SKILL.md": skill("a"), ".agents/skills/a/SKILL.md": skill("a") });
    const list = scan();
    expect(list.skills).toHaveLength(1);
    expect(list.skills[0]?.scope).toBe("project");
    expect(list.problems).toEqual([
      {
        path: join(home, ".agents/skills/a/SKILL.md"),
        message: `is overridden by ${join(home, "work/.skein/skills/a/SKILL.md")}, which has the same name`,
      },
    ]);
  });

  test("a directory that is reached through two links is one skill", () => {
    const { scan, project } = createSetup({ "work/.agents/skills/a/SKILL.md": skill("a") });
    mkdirSync(join(project, ".claude"));
    symlinkSync(join(project, ".agents/skills"), join(project, ".claude/skills"));
    expect(scan()).toMatchObject({ skills: [{ name: "a" }], problems: [] });
  });
});

describe("SKILL.md files", () => {
  test.each([
    ["without frontmatter", "# Hello\n", 'has no frontmatter between two lines "---" in its first 8192 bytes'],
    ["that is empty", "", 'has no frontmatter between two lines "---" in its first 8192 bytes'],
    [
      "whose frontmatter does not end",
      "---\nname: a\ndescription: x\n",
      'has no frontmatter between two lines "---" in its first 8192 bytes',
    ],
    ["without a description", "---\nname: a\n---\n", "has no description, so a model can't know when to use it; it is left out"],
    [
      "with a blank description",
      "---\nname: a\ndescription: '  '\n---\n",
      "has no description, so a model can't know when to use it; it is left out",
    ],
    [
      "with a description that is not a text",
      "---\nname: a\ndescription: [1]\n---\n",
      "has no description, so a model can't know when to use it; it is left out",
    ],
    ["whose frontmatter is a list", "---\n- a\n---\n", "its frontmatter holds no fields"],
  ])("a SKILL.md %s is left out and reported", (_, text, message) => {
    const list = createSetup({ "work/.skein/skills/a/SKILL.md": text }).scan();
    expect(list.skills).toEqual([]);
    expect(messages(list)).toEqual([message]);
  });

  test("a SKILL.md with an unquoted colon is used and reported", () => {
    const list = createSetup({
      "work/.skein/skills/a/SKILL.md": "---\nname: a\ndescription: Use when: tests fail\ndisable-model-invocation: true\n---\n",
    }).scan();
    expect(list.skills).toMatchObject([{ name: "a", description: "Use when: tests fail", hidden: true }]);
    expect(messages(list)[0]).toStartWith("its frontmatter is not valid YAML");
  });

  test("a SKILL.md that is not YAML is reported", () => {
    const list = createSetup({ "work/.skein/skills/a/SKILL.md": "---\n\t[ {{ ]\n---\n" }).scan();
    expect(list.skills).toEqual([]);
    expect(messages(list)).toHaveLength(1);
  });

  test("a SKILL.md may have CRLF, a BOM, folded texts and unknown fields", () => {
    const text =
      "\uFEFF---\r\nname: a\r\ndescription: >\r\n  two\r\n  lines\r\nmetadata:\r\n  x: y\r\nallowed-tools: read\r\n---\r\nBody\r\n";
    expect(createSetup({ "work/.skein/skills/a/SKILL.md": text }).scan()).toMatchObject({
      skills: [{ name: "a", description: "two lines" }],
      problems: [],
    });
  });

  test.each([
    ["A_b", ["should be 1 to 64", "differs from its directory's name"]],
    ["-a", ["should be 1 to 64", "differs from its directory's name"]],
    ["a--b", ["should be 1 to 64", "differs from its directory's name"]],
    ["x".repeat(65), ["should be 1 to 64", "differs from its directory's name"]],
    ["other", ["differs from its directory's name"]],
    ["''", ["has no name; its directory's name"]],
  ])("a skill named %s is listed with a warning", (name, warnings) => {
    const list = createSetup({ "work/.skein/skills/a/SKILL.md": `---\nname: ${name}\ndescription: d\n---\n` }).scan();
    expect(list.skills).toHaveLength(1);
    expect(list.problems).toHaveLength(warnings.length);
    for (const [index, warning] of warnings.entries()) expect(list.problems[index]?.message).toContain(warning);
  });

  test("a skill with a description that is too long is listed with a warning", () => {
    const list = createSetup({ "work/.skein/skills/a/SKILL.md": `---\nname: a\ndescription: ${"d".repeat(1025)}\n---\n` }).scan();
    expect(list.skills).toHaveLength(1);
    expect(messages(list)).toEqual(["its description has 1025 characters; 1024 are allowed"]);
  });

  test("only the head of a SKILL.md is read, so size and invalid bytes do not matter", () => {
    const list = createSetup({ "work/.skein/skills/a/SKILL.md": `${skill("a")}${"\u0000\uD800x".repeat(200_000)}` }).scan();
    expect(names(list)).toEqual(["a"]);
  });

  test("a SKILL.md that is a pipe or a directory is ignored without waiting", () => {
    const { scan, project } = createSetup();
    mkdirSync(join(project, ".skein/skills/a"), { recursive: true });
    execFileSync("mkfifo", [join(project, ".skein/skills/a/SKILL.md")]);
    mkdirSync(join(project, ".skein/skills/b/SKILL.md"), { recursive: true });
    expect(scan()).toEqual({ skills: [], problems: [] });
  });
});

describe("links out of a project", () => {
  test("a skill of the project behind a link out of it is not read, and the user's own one is still found", () => {
    const { scan, home, project } = createSetup({
      ".claude/skills/mine/SKILL.md": skill("mine"),
      ".claude/agents/deploy.md": skill("secret"),
      "work/.agents/skills/inside/SKILL.md": skill("inside"),
    });
    mkdirSync(join(project, ".claude/skills/stolen"), { recursive: true });
    symlinkSync(join(home, ".claude/agents/deploy.md"), join(project, ".claude/skills/stolen/SKILL.md"));
    symlinkSync(join(home, ".claude/skills"), join(project, ".claude/skills/all"));
    symlinkSync("../../.agents/skills/inside", join(project, ".claude/skills/again"));
    const list = scan();
    expect(names(list)).toEqual(["inside", "mine"]);
    expect(messages(list).toSorted()).toEqual([
      `can't be read: it leads out of ${project}`,
      "is a link that leads out of the project; put the link into ~/.agents/skills",
    ]);
  });

  test("a skill of the user may be a link to any place", () => {
    const { scan, home } = createSetup({ "elsewhere/mine/SKILL.md": skill("mine"), ".agents/skills/.keep": "" });
    symlinkSync(join(home, "elsewhere/mine"), join(home, ".agents/skills/mine"));
    expect(names(scan())).toEqual(["mine"]);
  });
});

describe("search for skills", () => {
  test("the search goes four directories deep, stops at a skill, and skips hidden directories and node_modules", () => {
    const { scan } = createSetup({
      "work/.skein/skills/1/2/3/four/SKILL.md": skill("four"),
      "work/.skein/skills/1/2/3/4/five/SKILL.md": skill("five"),
      "work/.skein/skills/outer/SKILL.md": skill("outer"),
      "work/.skein/skills/outer/inner/SKILL.md": skill("inner"),
      "work/.skein/skills/.git/x/SKILL.md": skill("x"),
      "work/.skein/skills/node_modules/y/SKILL.md": skill("y"),
    });
    expect(names(scan())).toEqual(["four", "outer"]);
  });

  test("the search ignores links that loop, dangle or lead to a file", () => {
    const { scan, project, write } = createSetup({ "work/.skein/skills/a/SKILL.md": skill("a") });
    const skills = join(project, ".skein/skills");
    symlinkSync(skills, join(skills, "loop"));
    symlinkSync(join(project, "nowhere"), join(skills, "dangling"));
    symlinkSync(write("file", "x"), join(skills, "file"));
    symlinkSync("self", join(skills, "self"));
    expect(scan()).toMatchObject({ skills: [{ name: "a" }], problems: [] });
  });

  test("the search ends after 500 directories and reports it", () => {
    const { scan, project } = createSetup();
    for (let n = 0; n < 520; n += 1) mkdirSync(join(project, ".skein/skills", String(n)), { recursive: true });
    const list = scan();
    expect(list.problems).toHaveLength(1);
    expect(messages(list)[0]).toBe("was not searched: more than 500 directories");
  });
});
