import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { findPaths, findProject } from "./paths.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-paths-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function createDirectory(...names: string[]): string {
  const path = join(root, ...names);
  mkdirSync(path, { recursive: true });
  return path;
}

describe("findPaths", () => {
  test("directories follow XDG below the home directory by default", () => {
    expect(findPaths({ HOME: "/h" }, "/w")).toEqual({
      home: "/h",
      config: "/h/.config/skein",
      data: "/h/.local/share/skein",
      state: "/h/.local/state/skein",
      cache: "/h/.cache/skein",
      userConfig: "/h/.config/skein/config.jsonc",
    });
  });

  test("each XDG variable moves its own directory", () => {
    const paths = findPaths({ HOME: "/h", XDG_CONFIG_HOME: "/c", XDG_DATA_HOME: "/d", XDG_STATE_HOME: "/s", XDG_CACHE_HOME: "/k" }, "/w");
    expect([paths.config, paths.data, paths.state, paths.cache]).toEqual(["/c/skein", "/d/skein", "/s/skein", "/k/skein"]);
  });

  test("SKEIN_HOME moves all four directories and overrides XDG", () => {
    const paths = findPaths({ HOME: "/h", XDG_DATA_HOME: "/d", SKEIN_HOME: "/all" }, "/w");
    expect([paths.config, paths.data, paths.state, paths.cache]).toEqual(["/all/config", "/all/data", "/all/state", "/all/cache"]);
    expect(paths.userConfig).toBe("/all/config/config.jsonc");
  });

  test("directories with relative paths, dots or a tilde become absolute", () => {
    expect(findPaths({ HOME: "/h", SKEIN_HOME: "." }, "/w").data).toBe("/w/data");
    expect(findPaths({ HOME: "/h", SKEIN_HOME: "../x" }, "/w/y").data).toBe("/w/x/data");
    expect(findPaths({ HOME: "/h", SKEIN_HOME: "~" }, "/w").data).toBe("/h/data");
    expect(findPaths({ HOME: "/h", XDG_DATA_HOME: "~/d" }, "/w").data).toBe("/h/d/skein");
    expect(findPaths({ HOME: "rel", XDG_CONFIG_HOME: "c" }, "/w")).toMatchObject({
      home: "/w/rel",
      config: "/w/c/skein",
      data: "/w/rel/.local/share/skein",
    });
  });

  test("empty directory variables count as unset", () => {
    expect(findPaths({ HOME: "/h", SKEIN_HOME: "", XDG_DATA_HOME: "" }, "/w").data).toBe("/h/.local/share/skein");
    expect(findPaths({ HOME: "" }, "/w").home).toBe(homedir());
  });
});

describe("findProject", () => {
  test("the project is the nearest ancestor with .skein or .git", () => {
    createDirectory("a", ".git");
    createDirectory("a", "b", ".skein");
    expect(findProject(createDirectory("a", "b", "c", "d"), "/nowhere")).toBe(join(root, "a", "b"));
    expect(findProject(createDirectory("a", "x"), "/nowhere")).toBe(join(root, "a"));
  });

  test("a .git file marks a project, as in a worktree, but a .skein file does not", () => {
    writeFileSync(join(createDirectory("worktree"), ".git"), "gitdir: elsewhere");
    expect(findProject(createDirectory("worktree", "sub"), "/nowhere")).toBe(join(root, "worktree"));
    writeFileSync(join(createDirectory("plain"), ".skein"), "");
    expect(findProject(createDirectory("plain", "sub"), "/nowhere")).toBe(join(root, "plain", "sub"));
  });

  test("a directory without a marked ancestor is its own project", () => {
    expect(findProject(createDirectory("none", "deep"), "/nowhere")).toBe(join(root, "none", "deep"));
  });

  test("the home directory and its ancestors are no project of a directory below it", () => {
    const home = createDirectory("outer", "home");
    createDirectory("outer", ".git");
    createDirectory("outer", "home", ".skein");
    expect(findProject(createDirectory("outer", "home", "work"), home)).toBe(join(home, "work"));
    expect(findProject(home, home)).toBe(home);
    const bare = createDirectory("outer", "bare");
    expect(findProject(bare, bare)).toBe(bare);
  });

  test("a directory that every user can write, like /tmp, is no project of a directory below it", () => {
    const open = createDirectory("open");
    createDirectory("open", ".skein");
    chmodSync(open, 0o1777);
    expect(findProject(createDirectory("open", "mine"), "/nowhere")).toBe(join(open, "mine"));
    expect(findProject(open, "/nowhere")).toBe(open);
  });

  test("the project is a real path, also through links and dots", () => {
    createDirectory("real", ".git");
    symlinkSync(createDirectory("real", "sub"), join(root, "link"));
    expect(findProject(join(root, "link"), "/nowhere")).toBe(join(root, "real"));
    expect(findProject(`${root}/real/sub/..`, "/nowhere")).toBe(join(root, "real"));
    expect(isAbsolute(findProject(".", "/nowhere"))).toBe(true);
    expect(findProject("/", "/nowhere")).toBe("/");
  });

  test("a missing directory is a fault that names it", () => {
    expect(() => findProject(join(root, "gone"), "/nowhere")).toThrow(`can't use ${join(root, "gone")} as a directory`);
  });
});
