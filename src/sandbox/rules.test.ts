import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import type { Policy, PolicyName } from "../protocol/api/policy.ts";
import { isTooBroad } from "../kit/files/path-status.ts";
import { createGitRules, describeSandbox, type SandboxPaths, type PathRule, createSandboxRules } from "./rules.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-rules-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;

/** A home with a key and a cache, a project with a repository, and what skein keeps. */
function makeHome(files: string[] = []) {
  const at = join(root, String((count += 1)));
  const defaults = ["home/.ssh/id", "home/.cargo/credentials.toml", "home/.cache/x", "home/project/.git/HEAD", "home/project/.git/config"];
  const folders = ["home/project/.git/objects", "home/project/.git/hooks", "temp", "copies", "skein/data", "skein/state", "skein/cache"];
  for (const folder of folders) mkdirSync(join(at, folder), { recursive: true });
  for (const file of [...defaults, "skein/config/keys", "skein/config/skills/a/SKILL.md", ...files]) {
    mkdirSync(dirname(join(at, file)), { recursive: true });
    writeFileSync(join(at, file), "");
  }
  const places: SandboxPaths = {
    project: join(at, "home/project"),
    directory: join(at, "home/project"),
    home: join(at, "home"),
    own: { config: join(at, "skein/config"), data: join(at, "skein/data"), state: join(at, "skein/state"), cache: join(at, "skein/cache") },
    temp: join(at, "temp"),
    copies: join(at, "copies"),
    isRoot: false,
    unixSockets: false,
  };
  return { at, places };
}

const policy = (name: PolicyName, more: Partial<Policy> = {}): Policy => ({
  name,
  sandbox: "auto",
  net: "off",
  allowWrite: [],
  addDirs: [],
  ...more,
});

/** The longest rule that leads to a path, as if these tests did not work in /tmp. */
function accessTo(rules: PathRule[], path: string): PathRule["access"] {
  const ours = rules.filter((rule) => rule.path === "/" || !root.startsWith(rule.path));
  return ours.findLast((rule) => rule.path === "/" || path === rule.path || path.startsWith(`${rule.path}/`))!.access;
}

test("a secret that is missing, and skein's own missing settings, are hidden from tools and from skein's git when they appear", () => {
  const { at, places } = makeHome(["home/.config/fish/config.fish"]);
  rmSync(places.own.config, { recursive: true });
  const git = createGitRules({ ...places, repository: null, isProjectWritable: false });
  for (const { rules } of [createSandboxRules(policy("workspace"), places), git]) {
    expect(rules.filter(({ access }) => access === "none").map(({ path }) => path)).toContain(places.own.config);
    // One missing name is enough: the entries beside it are then allowed one by one.
    expect(rules.some(({ path, access }) => access === "none" && dirname(path) === join(at, "home/.config"))).toBe(true);
  }
});

test("a skill that the user linked from a hidden place can be read, and one in the project can still be written", () => {
  const { at, places } = makeHome(["home/.claude/plugins/p/SKILL.md", "home/project/skill/SKILL.md", "home/.claude/secret/x"]);
  mkdirSync(join(at, "home/.agents/skills"), { recursive: true });
  for (const [name, target] of Object.entries({ p: ".claude/plugins/p", own: "project/skill", none: ".claude/secret" }))
    symlinkSync(join(at, "home", target), join(at, "home/.agents/skills", name));
  const { rules } = createSandboxRules(policy("workspace"), places);
  const access = ["home/.claude/plugins/p/SKILL.md", "home/project/skill/SKILL.md", "home/.claude/secret/x"].map((path) =>
    accessTo(rules, join(at, path)),
  );
  expect(access).toEqual(["read", "write", "none"]);
});

describe("access by policy and path", () => {
  const rows: [string, PathRule["access"], PathRule["access"], PathRule["access"]][] = [
    // path, workspace, readonly, plan
    ["elsewhere", "read", "read", "read"],
    ["home/notes", "read", "read", "read"],
    ["home/.ssh/id", "none", "none", "none"],
    ["home/.cache/x", "scratch", "scratch", "scratch"],
    ["home/.cargo/registry/new", "scratch", "scratch", "scratch"],
    ["home/.cargo/credentials.toml", "none", "none", "none"],
    ["home/project/a.ts", "write", "read", "read"],
    ["home/project/.git/index", "write", "read", "read"],
    ["home/project/.git/hooks/pre-commit", "read", "read", "read"],
    ["home/project/.git/config", "read", "read", "read"],
    ["home/project/.skein/config.jsonc", "read", "read", "read"],
    ["home/project/.skein/plan.md", "write", "read", "write"],
    ["temp/a", "write", "write", "write"],
    ["skein/config/keys", "none", "none", "none"],
    ["skein/config/skills/a/SKILL.md", "read", "read", "read"],
    ["home/.claude/skills/a/SKILL.md", "read", "read", "read"],
    ["home/.claude/history.jsonl", "none", "none", "none"],
    ["skein/data/skein.db", "none", "none", "none"],
    ["skein/state/sandbox.json", "none", "none", "none"],
  ];
  const { at, places } = makeHome(["home/project/.skein/config.jsonc", "home/project/.skein/plan.md", "home/.claude/skills/a/SKILL.md"]);
  const names = ["workspace", "readonly", "plan"] as const;
  names.forEach((name, column) => {
    test.each(rows.map((row) => [row[0], row[column + 1]!] as const))(`under policy ${name} the access to %s is %s`, (path, expected) => {
      expect(accessTo(createSandboxRules(policy(name), places).rules, join(at, path))).toBe(expected as PathRule["access"]);
    });
  });
});

test("rules are sorted from the shortest path to the longest, and the first is for /", () => {
  const { rules } = createSandboxRules(policy("workspace"), makeHome().places);
  const depths = rules.map((rule) => rule.path.split("/").filter(Boolean).length);
  expect(rules[0]).toEqual({ path: "/", access: "read" });
  expect(depths).toEqual(depths.toSorted((a, b) => a - b));
});

describe("additional directories", () => {
  test("--add-dir and --allow-write are writable, and their repositories are protected like the project's", () => {
    const { at, places } = makeHome(["lib/.git/HEAD", "lib/.git/config", "lib/.git/objects/x", "lib/.git/hooks/x", "out/x"]);
    const asked = policy("workspace", { addDirs: [join(at, "lib")], allowWrite: [join(at, "out")] });
    const { rules } = createSandboxRules(asked, places);
    expect(
      ["lib/a", "out/a", "lib/.git/index", "lib/.git/hooks/x", "lib/.git/config"].map((path) => accessTo(rules, join(at, path))),
    ).toEqual(["write", "write", "write", "read", "read"]);
  });

  test("a protected path can be made writable by its own name", () => {
    const { at, places } = makeHome();
    const hooks = join(at, "home/project/.git/hooks");
    const { rules } = createSandboxRules(policy("workspace", { allowWrite: [hooks] }), places);
    expect(accessTo(rules, join(hooks, "pre-commit"))).toBe("write");
    expect(accessTo(rules, join(at, "home/project/.git/config"))).toBe("read");
  });

  test("policies readonly and plan make neither writable", () => {
    const { at, places } = makeHome(["lib/x"]);
    for (const name of ["readonly", "plan"] as const) {
      const { rules } = createSandboxRules(policy(name, { addDirs: [join(at, "lib")], allowWrite: [join(at, "lib")] }), places);
      expect(accessTo(rules, join(at, "lib/x"))).toBe("read");
    }
  });
});

describe("untrusted projects", () => {
  test("an untrusted project can't make a secret readable by a link at a protected path", () => {
    for (const name of [".skein", ".git/hooks", ".git/config.worktree"]) {
      const { at, places } = makeHome();
      rmSync(join(places.project, name), { recursive: true, force: true });
      symlinkSync(join(at, "home/.ssh"), join(places.project, name));
      expect(accessTo(createSandboxRules(policy("workspace"), places).rules, join(at, "home/.ssh/id"))).toBe("none");
    }
  });

  test("an untrusted project can't make a file writable by a link at the path of the plan", () => {
    for (const make of [symlinkSync, linkSync]) {
      const { at, places } = makeHome(["home/.bashrc", "home/project/.skein/x"]);
      make(join(at, "home/.bashrc"), join(places.project, ".skein/plan.md"));
      for (const name of ["workspace", "plan"] as const) {
        const { rules } = createSandboxRules(policy(name), places);
        expect(accessTo(rules, join(at, "home/.bashrc"))).toBe("read");
        expect(accessTo(rules, join(places.project, ".skein/plan.md"))).toBe("read");
      }
    }
  });

  test("a project whose .skein is a file has no plan", () => {
    const { places } = makeHome(["home/project/.skein"]);
    expect(accessTo(createSandboxRules(policy("plan"), places).rules, join(places.project, ".skein"))).toBe("read");
  });

  test("an untrusted project can't make another repository writable by a link at .git", () => {
    const { at, places } = makeHome(["other/.git/HEAD", "other/.git/objects/x"]);
    rmSync(join(places.project, ".git"), { recursive: true });
    symlinkSync(join(at, "other/.git"), join(places.project, ".git"));
    expect(accessTo(createSandboxRules(policy("workspace"), places).rules, join(at, "other/.git/index"))).toBe("read");
  });
});

test("the home directory and its parents are not writable as a project", () => {
  const { at, places } = makeHome();
  for (const project of [places.home, dirname(places.home), "/"]) {
    const { rules } = createSandboxRules(policy("workspace"), { ...places, project, directory: project });
    expect(accessTo(rules, join(at, "home/.bashrc"))).toBe("read");
    expect(isTooBroad(project, places.home)).toBe(true);
  }
  expect(isTooBroad(`${places.home}-more`, places.home)).toBe(false);
});

test("the working directory is writable if the project itself is too broad", () => {
  const { at, places } = makeHome(["home/notes/x"]);
  const { rules } = createSandboxRules(policy("workspace"), { ...places, project: places.home, directory: join(at, "home/notes") });
  expect(accessTo(rules, join(at, "home/notes/x"))).toBe("write");
});

test("a project below a scratch path is no scratch copy, under every policy", () => {
  const { at, places } = makeHome();
  const inCache = { ...places, project: join(at, "home/.cache"), directory: join(at, "home/.cache") };
  expect(
    ["workspace", "readonly", "plan"].map((name) =>
      accessTo(createSandboxRules(policy(name as PolicyName), inCache).rules, join(at, "home/.cache/x")),
    ),
  ).toEqual(["write", "read", "read"]);
});

test("a project or an added directory that is now a link gets no rule, and neither does its target", () => {
  const { at, places } = makeHome();
  const link = join(at, "link");
  symlinkSync(join(at, "home/.ssh"), link);
  const asked = policy("workspace", { addDirs: [link], allowWrite: [link] });
  const { rules } = createSandboxRules(asked, { ...places, project: link, directory: link });
  expect(rules.filter(({ path }) => path === link)).toEqual([]);
  expect(accessTo(rules, join(at, "home/.ssh/id"))).toBe("none");
});

test("of missing paths only secrets that may appear have a rule", () => {
  const { at, places } = makeHome();
  const { rules } = createSandboxRules(policy("workspace"), places);
  expect(rules).toContainEqual({ path: places.project, access: "write" });
  const missing = rules.filter((rule) => !existsSync(rule.path)).map((rule) => rule.path);
  expect(missing.filter((path) => path.startsWith(join(at, "home/")))).not.toEqual([]);
  expect(rules.filter((rule) => rule.access !== "none" && !existsSync(rule.path))).toEqual([]);
});

test("root keeps the right to change files of other users only if the project belongs to one", () => {
  const { places } = makeHome();
  const isMine = process.getuid?.() === 0;
  expect(createSandboxRules(policy("workspace"), { ...places, isRoot: true }).keepsOwnerRights).toBe(!isMine);
  expect(createSandboxRules(policy("readonly"), { ...places, isRoot: true }).keepsOwnerRights).toBe(false);
  expect(createSandboxRules(policy("workspace"), places).keepsOwnerRights).toBe(false);
});

test("the executor gets the writable and the hidden paths", () => {
  const { at, places } = makeHome();
  const asked = policy("workspace", { net: "on" });
  const bounds = describeSandbox(createSandboxRules(asked, places), asked, true);
  expect(bounds).toMatchObject({ policy: "workspace", net: "on", unixSockets: false, temp: places.temp, isEnforced: true });
  expect(bounds.maxMemoryBytes).toBeWithin(1, totalmem());
  expect(describeSandbox(createSandboxRules(asked, places), policy("full"), false).maxMemoryBytes).toBe(null);
  expect(bounds.writable).toContain(places.project);
  expect(bounds.hidden).toContain(join(at, "home/.ssh"));
});
