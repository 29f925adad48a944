import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { findPaths, findProject } from "./paths.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-paths-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function directory(...words: string[]): string {
  const path = join(root, ...words);
  mkdirSync(path, { recursive: true });
  return path;
}

describe("directories", () => {
  test("follow XDG below the home directory", () => {
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

  test("SKEIN_HOME moves all four and beats XDG", () => {
    const paths = findPaths({ HOME: "/h", XDG_DATA_HOME: "/d", SKEIN_HOME: "/all" }, "/w");
    expect([paths.config, paths.data, paths.state, paths.cache]).toEqual(["/all/config", "/all/data", "/all/state", "/all/cache"]);
    expect(paths.userConfig).toBe("/all/config/config.jsonc");
  });

  test("relative values, dots and a tilde become absolute", () => {
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

  test("empty variables count as unset", () => {
    expect(findPaths({ HOME: "/h", SKEIN_HOME: "", XDG_DATA_HOME: "" }, "/w").data).toBe("/h/.local/share/skein");
    expect(findPaths({ HOME: "" }, "/w").home).toBe(homedir());
  });
});

describe("the project", () => {
  test("is the nearest ancestor with .skein or .git", () => {
    directory("a", ".git");
    directory("a", "b", ".skein");
    expect(findProject(directory("a", "b", "c", "d"), "/nowhere")).toBe(join(root, "a", "b"));
    expect(findProject(directory("a", "x"), "/nowhere")).toBe(join(root, "a"));
  });

  test("may be marked by a .git file, as in a worktree, but not by a .skein file", () => {
    writeFileSync(join(directory("worktree"), ".git"), "gitdir: elsewhere");
    expect(findProject(directory("worktree", "sub"), "/nowhere")).toBe(join(root, "worktree"));
    writeFileSync(join(directory("plain"), ".skein"), "");
    expect(findProject(directory("plain", "sub"), "/nowhere")).toBe(join(root, "plain", "sub"));
  });

  test("is the directory itself when nothing is marked", () => {
    expect(findProject(directory("none", "deep"), "/nowhere")).toBe(join(root, "none", "deep"));
  });

  test("is never the home directory seen from below, and the climb does not pass it", () => {
    const home = directory("outer", "home");
    directory("outer", ".git");
    directory("outer", "home", ".skein");
    expect(findProject(directory("outer", "home", "work"), home)).toBe(join(home, "work"));
    expect(findProject(home, home)).toBe(home);
    const bare = directory("outer", "bare");
    expect(findProject(bare, bare)).toBe(bare);
  });

  test("is not a place like /tmp where a stranger may have put the mark", () => {
    const open = directory("open");
    directory("open", ".skein");
    chmodSync(open, 0o1777);
    expect(findProject(directory("open", "mine"), "/nowhere")).toBe(join(open, "mine"));
    expect(findProject(open, "/nowhere")).toBe(open);
  });

  test("is a real path, whatever link or dots lead to it", () => {
    directory("real", ".git");
    symlinkSync(directory("real", "sub"), join(root, "link"));
    expect(findProject(join(root, "link"), "/nowhere")).toBe(join(root, "real"));
    expect(findProject(`${root}/real/sub/..`, "/nowhere")).toBe(join(root, "real"));
    expect(isAbsolute(findProject(".", "/nowhere"))).toBe(true);
    expect(findProject("/", "/nowhere")).toBe("/");
  });

  test("that does not exist is a fault with its name", () => {
    expect(() => findProject(join(root, "gone"), "/nowhere")).toThrow(`can't use ${join(root, "gone")} as a directory`);
  });
});
