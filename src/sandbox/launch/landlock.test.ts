import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { readablePaths } from "./landlock.ts";
import type { PathRule } from "../rules.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-landlock-")));

beforeAll(() => {
  for (const file of ["home/.ssh/id", "home/.bashrc", "home/work/a", "skein/keys", "skein/skills/a", "skein/skills/b", "other/x"]) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), "");
  }
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const rules = (...given: [string, PathRule["access"]][]): PathRule[] => [
  { path: "/", access: "read" },
  ...given.map(([path, access]) => ({ path: join(root, path), access })),
];
/** Every path that the rules make readable, as the launcher finds them. */
function expand(given: PathRule[]): string[] {
  const { paths, directories } = readablePaths(given);
  const entries = directories.flatMap(({ path, except }) => {
    if (!existsSync(path)) return [];
    const names = readdirSync(path).filter((name) => !except.includes(name));
    return names.map((name) => join(path, name));
  });
  return [...paths, ...entries];
}
const readable = (given: PathRule[]) =>
  expand(given)
    .filter((path) => path.startsWith(root))
    .map((path) => path.slice(root.length + 1))
    .toSorted();

describe("readable paths", () => {
  test("paths beside a secret are readable, and neither the secret nor its parents are", () => {
    expect(readable(rules(["home/.ssh", "none"]))).toEqual(["home/.bashrc", "home/work", "other", "skein"]);
  });

  test("of a hidden directory only its visible paths are readable", () => {
    expect(readable(rules(["skein", "none"], ["skein/skills", "read"]))).toEqual(["home", "other", "skein/skills"]);
  });

  test("a secret file is not among the readable paths", () => {
    expect(readable(rules(["home/.bashrc", "none"]))).toEqual(["home/.ssh", "home/work", "other", "skein"]);
  });

  test("a directory without secrets is one readable path", () => {
    const all = expand(rules());
    expect(all).toContain("/usr");
    expect(all).not.toContain("/");
    expect(all).not.toContain("/dev");
    expect(all.some((path) => path.startsWith("/dev/"))).toBe(false);
  });

  test("a secret inside a visible path of a hidden directory stays hidden", () => {
    const given = rules(["skein", "none"], ["skein/skills", "read"], ["skein/skills/b", "none"]);
    expect(readable(given)).toEqual(["home", "other", "skein/skills/a"]);
  });

  test("a missing secret hides nothing", () => {
    expect(readable(rules(["home/.gnupg", "none"]))).toEqual(["home/.bashrc", "home/.ssh", "home/work", "other", "skein"]);
  });
});
