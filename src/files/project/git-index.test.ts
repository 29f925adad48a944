import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDirectorySafely } from "../../kit/files/safe-file.ts";
import { testProject, writeAll, type TestProject } from "../fixtures/project.ts";
import { readGitlinks } from "./git-index.ts";

const id = "1".repeat(40);
const owners = [process.getuid?.() ?? 0];

function gitlinksOf({ project }: TestProject): string[] {
  const directory = openDirectorySafely(join(project, ".git"));
  try {
    return readGitlinks(directory, owners).toSorted();
  } finally {
    directory.close();
  }
}

function repository(...init: string[]): TestProject {
  const place = testProject();
  place.git("init", "-q", ...init);
  writeAll(place, Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`d${index % 3}/some-file-${index}.txt`, `${index}`])));
  place.git("add", ".");
  return place;
}

test.each(["2", "3", "4"])("gitlinks are found in an index of version %s", (version) => {
  using place = repository();
  place.git("update-index", "--add", "--cacheinfo", `160000,${id},d1/sub`);
  place.git("update-index", "--add", "--cacheinfo", `160000,${id},d1/sub-two`);
  // Version 3 is written only if an entry needs it.
  if (version === "3") place.git("update-index", "--skip-worktree", "d0/some-file-0.txt");
  place.git("update-index", "--index-version", version);
  expect(gitlinksOf(place)).toEqual(["d1/sub", "d1/sub-two"]);
});

test("gitlinks are found in a repository with long ids", () => {
  using place = repository("--object-format=sha256");
  place.git("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(64)},sub`);
  expect(gitlinksOf(place)).toEqual(["sub"]);
});

test("gitlinks are found in a split index, also if one replaces a file", () => {
  using place = repository();
  place.git("update-index", "--split-index");
  place.git("update-index", "--add", "--cacheinfo", `160000,${id},sub`);
  expect(gitlinksOf(place)).toContain("sub");
  place.git("update-index", "--cacheinfo", `160000,${id},d0/some-file-0.txt`);
  expect(gitlinksOf(place)).toContain("d0/some-file-0.txt");
});

test("a broken or missing index has no gitlinks", () => {
  using place = testProject();
  place.git("init", "-q");
  expect(gitlinksOf(place)).toEqual([]);
  for (const text of ["", "DIRC", "DIRC\0\0\0\x02\0\0\0\x09", `DIRC\0\0\0\x04\xff\xff\xff\xff${"\xff".repeat(500)}`]) {
    writeFileSync(join(place.project, ".git", "index"), text, "latin1");
    expect(gitlinksOf(place)).toEqual([]);
  }
});
