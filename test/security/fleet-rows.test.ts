// A hostile machine of a fleet writes rows into the shared database: ids that git takes as options, ids that are paths, and packs
// that say another state than they have.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainGit } from "../../src/files/fixtures/plain-git.ts";
import { runGit, type ShadowRepository } from "../../src/files/git.ts";
import { prepareShadow, shadowRepository } from "../../src/files/snapshots/shadow.ts";
import { fetchPacks, readPacks } from "../../src/fleet/files/checkpoints.ts";
import { workspaceOf } from "../../src/fleet/files/fleet-paths.ts";
import type { PgDb } from "../../src/store/postgres/connection/connection.ts";

const session = "01a1f220-885b-715c-aab2-ae88bc845aef";
let root = "";
let shadow: ShadowRepository;
let commit = "";
let tree = "";

beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "skein-fleet-rows-")));
  const project = join(root, "project");
  mkdirSync(project);
  writeFileSync(join(project, "a.txt"), "mine\n");
  shadow = shadowRepository({ root: join(root, "files"), git: plainGit }, project);
  prepareShadow(shadow);
  await runGit(shadow, ["add", "-A"]);
  tree = (await runGit(shadow, ["write-tree"])).toString().trim();
  const author = ["-c", "user.name=t", "-c", "user.email=t@t"];
  commit = (await runGit(shadow, [...author, "commit-tree", tree, "-m", "x"])).toString().trim();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A database whose rows the hostile machine has written. */
function databaseWith(row: object): PgDb {
  const full = { n: 1, commit, base: null, tree, recorded: tree, ...row };
  return { rows: async () => [full], bytes: async () => null } as unknown as PgDb;
}

const texts = ["HEAD", "--output=owned", "--index-output=owned", "-Fowned", "", "../x", "A".repeat(40), `${"a".repeat(40)}\n`];

test.each(["commit", "tree", "base", "recorded"])("a %s that is no id is refused before git sees it", async (column) => {
  for (const text of texts) await expect(readPacks(databaseWith({ [column]: text }), session)).rejects.toThrow("names no object");
  expect(await readPacks(databaseWith({}), session)).toHaveLength(1);
});

test("a pack whose commit is known, with another tree, is refused", async () => {
  const other = (await runGit(shadow, ["mktree"], { stdin: Buffer.from("") })).toString().trim();
  const fetched = async (row: object) => fetchPacks(databaseWith(row), shadow, session, await readPacks(databaseWith(row), session));
  await expect(fetched({ tree: other })).rejects.toThrow("names another tree");
  await fetched({});
});

test("the files of a session are never put outside of the directory for them", () => {
  expect(workspaceOf("/data/workspaces", session)).toBe(`/data/workspaces/${session}`);
  for (const id of ["../../home/victim/project", "/etc", "", ".", "..", `${session}/../../x`, `${session}\n`])
    expect(() => workspaceOf("/data/workspaces", id)).toThrow("is no session of the fleet");
});
