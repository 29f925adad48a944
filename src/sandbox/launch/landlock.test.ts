import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
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
const readable = (given: PathRule[]) =>
  readablePaths(given)
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
    const all = readablePaths(rules());
    expect(all).toContain("/usr");
    expect(all).not.toContain("/");
    expect(all).not.toContain("/dev");
    expect(all.some((path) => path.startsWith("/dev/"))).toBe(false);
  });

  test("a missing secret hides nothing", () => {
    expect(readable(rules(["home/.gnupg", "none"]))).toEqual(["home/.bashrc", "home/.ssh", "home/work", "other", "skein"]);
  });
});
