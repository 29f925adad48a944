import { expect, test } from "bun:test";
import { linkSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDirectorySafely } from "../../kit/files/safe-file.ts";
import { testProject, writeAll, type TestProject } from "../fixtures/project.ts";
import { type Gitlinks, readGitlinks } from "./git-index.ts";

const id = "1".repeat(40);
const owners = [process.getuid?.() ?? 0];

function readIn({ project }: TestProject): Gitlinks {
  const directory = openDirectorySafely(join(project, ".git"));
  try {
    return readGitlinks(directory, owners);
  } finally {
    directory.close();
  }
}

function gitlinksOf(place: TestProject): string[] {
  const { paths, problem } = readIn(place);
  expect(problem).toBeNull();
  return paths.toSorted();
}

const indexOf = ({ project }: TestProject): string => join(project, ".git", "index");

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

test("an index that git refuses or that is missing has no gitlinks", () => {
  using place = testProject();
  place.git("init", "-q");
  expect(gitlinksOf(place)).toEqual([]);
  for (const text of ["", "garbage"]) {
    writeFileSync(indexOf(place), text, "latin1");
    expect(gitlinksOf(place)).toEqual([]);
  }
});

test("an index that can't be read completely has a problem", () => {
  using place = repository();
  for (const text of ["DIRC", "DIRC\0\0\0\x02\0\0\0\x09", `DIRC\0\0\0\x04\xff\xff\xff\xff${"\xff".repeat(500)}`]) {
    writeFileSync(indexOf(place), text, "latin1");
    expect(readIn(place).problem).toContain("its index");
  }
  renameSync(indexOf(place), join(place.project, "elsewhere"));
  symlinkSync(join(place.project, "elsewhere"), indexOf(place));
  expect(readIn(place)).toEqual({ paths: [], problem: "its index can't be checked: it is a symbolic link" });
});

test("gitlinks are found if their mode has other bits, and in a file with several names", () => {
  using place = repository();
  place.git("update-index", "--add", "--cacheinfo", `160000,${id},sub`);
  const bytes = readFileSync(indexOf(place));
  const mode = bytes.indexOf(Buffer.from([0, 0, 0xe0, 0]));
  bytes.writeUInt32BE(0o160755, mode);
  writeFileSync(indexOf(place), bytes);
  linkSync(indexOf(place), join(place.project, "second-name"));
  expect(gitlinksOf(place)).toEqual(["sub"]);
});

test("an index with directories has a problem, because gitlinks may be in them", () => {
  using place = repository();
  const bytes = readFileSync(indexOf(place));
  bytes.writeUInt32BE(0o040000, 12 + 24);
  writeFileSync(indexOf(place), bytes);
  expect(readIn(place).problem).toBe("its index has directories instead of files");
});
