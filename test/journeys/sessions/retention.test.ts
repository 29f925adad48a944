// Archived sessions expire by themselves: once a day after a turn, and never with unmerged work.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { serverWith } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = wireModels.anthropic;
const dayMs = 86_400_000;

async function run(skein: TemporaryHome, session: string): Promise<{ session_id: string; transcript_path: string }> {
  const ran = await skein.run(["run", "work", "--session", session, "-m", model, "--json"]);
  expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
  return ran.json() as { session_id: string; transcript_path: string };
}

/** Archives a session, as if that was done `days` ago. */
async function archive(skein: TemporaryHome, name: string, days: number): Promise<void> {
  expect((await skein.run(["delete", name])).code).toBe(0);
  const db = new Database(dataPath(skein, "skein.db"));
  db.run("update sessions set archived_at = ?, updated_at = ? where name = ?", [
    Date.now() - days * dayMs,
    Date.now() - days * dayMs,
    name,
  ]);
  db.close();
}

function dataPath(skein: TemporaryHome, ...names: string[]): string {
  return join(skein.env["SKEIN_HOME"]!, "data", ...names);
}

async function archivedNames(skein: TemporaryHome): Promise<string[]> {
  const listed = (await skein.run(["list", "--archived", "--json"])).json() as unknown as { name: string }[];
  return listed.map(({ name }) => name).toSorted();
}

function forgetToday(skein: TemporaryHome): void {
  rmSync(join(skein.env["SKEIN_HOME"]!, "state", "upkeep"), { recursive: true });
}

test("sessions that were archived 30 days ago are removed after the first turn of a day, with outputs and transcripts", async () => {
  await using server = serverWith(shellScript(["seq 1 20000"], "done"));
  using skein = temporaryHome(vendorEnv(server.url));
  const old = await run(skein, "old");
  await run(skein, "young");
  await archive(skein, "old", 31);
  await archive(skein, "young", 29);
  expect(readdirSync(dataPath(skein, "outputs"))).toContain(old.session_id);
  await run(skein, "same day");
  expect(await archivedNames(skein)).toEqual(["old", "young"]);
  const planned = await skein.run(["purge", "--dry-run"]);
  expect(planned.out).toMatch(/would purge old[^]*would free/);
  forgetToday(skein);
  await run(skein, "next day");
  expect(await archivedNames(skein)).toEqual(["young"]);
  expect(existsSync(old.transcript_path)).toBe(false);
  expect(readdirSync(dataPath(skein, "outputs"))).not.toContain(old.session_id);
  expect((await skein.run(["verify"])).code).toBe(0);
});

test("the config key retention sets the time, and several runs at once remove a session once", async () => {
  await using server = serverWith({ steps: [], final: "done" });
  using skein = temporaryHome(vendorEnv(server.url));
  for (const name of ["a", "b", "c"]) await run(skein, name);
  expect((await skein.run(["config", "set", "retention", "2d"])).code).toBe(0);
  await archive(skein, "a", 3);
  await archive(skein, "b", 1);
  forgetToday(skein);
  await Promise.all(["x", "y", "z"].map((name) => run(skein, name)));
  expect(await archivedNames(skein)).toEqual(["b"]);
  expect((await skein.run(["verify"])).code).toBe(0);
});

test("snapshots without a session are removed, and a team directory with unknown work stays", async () => {
  await using server = serverWith(shellScript(["echo x > file"], "done"));
  using skein = temporaryHome(vendorEnv(server.url));
  await run(skein, "old");
  const [snapshots] = readdirSync(dataPath(skein, "files")).filter((name) => name.endsWith(".git"));
  const directory = dataPath(skein, "files", snapshots!);
  const other = dataPath(skein, "files", "0123456789abcdef01234567.git");
  mkdirSync(other);
  writeFileSync(join(other, "project"), "/a/project/without/sessions\n");
  const team = join(skein.project, ".skein", "teams", "0123abcd");
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, "session.log"), "no log of a team\n");
  const before = new Date(Date.now() - 40 * dayMs);
  for (const path of [directory, other].flatMap((root) => ["", "HEAD", "index", "objects"].map((name) => join(root, name))))
    if (statSync(path, { throwIfNoEntry: false }) !== undefined) utimesSync(path, before, before);
  const planned = await skein.run(["purge", "--dry-run"]);
  expect(planned.out).toContain(`would remove ${other}`);
  expect(planned.out).not.toContain(directory);
  forgetToday(skein);
  await run(skein, "next day");
  expect([existsSync(other), existsSync(directory), existsSync(team)]).toEqual([false, true, true]);
});

test("stored files of purged sessions are removed from a snapshot repository that other sessions still use", async () => {
  await using server = serverWith(shellScript(["echo only-in-old > old.txt; mkdir -p d; echo deep > d/f"], "done"));
  using skein = temporaryHome(vendorEnv(server.url));
  await run(skein, "old");
  server.setScript(shellScript(["rm -r old.txt d; echo kept > kept.txt"], "done"));
  await run(skein, "between");
  server.setScript(shellScript(["echo more > more.txt"], "done"));
  await run(skein, "kept");
  const [name] = readdirSync(dataPath(skein, "files")).filter((entry) => entry.endsWith(".git"));
  const objects = dataPath(skein, "files", name!, "objects");
  const hasObject = (content: string): boolean => {
    const id = new Bun.CryptoHasher("sha1").update(`blob ${content.length}\0${content}`).digest("hex");
    return existsSync(join(objects, id.slice(0, 2), id.slice(2)));
  };
  const before = new Date(Date.now() - 40 * dayMs);
  const age = (): void => {
    for (const entry of readdirSync(objects, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) utimesSync(join(entry.parentPath, entry.name), before, before);
  };
  const changesOf = async (session: string) => JSON.stringify((await skein.run(["export", session, "--json"])).json()["files"]);
  const changes = await changesOf("kept");
  age();
  expect((await skein.run(["purge"])).code).toBe(0);
  // Sessions that are not purged keep their files.
  expect([hasObject("only-in-old\n"), hasObject("kept\n"), hasObject("more\n")]).toEqual([true, true, true]);
  for (const session of ["old", "between"]) await archive(skein, session, 31);
  rmSync(dataPath(skein, "files", name!, "pruned"));
  age();
  forgetToday(skein);
  server.setScript({ steps: [], final: "done" });
  await run(skein, "kept");
  // The exit of a run waits only a moment for the removal, so it may be left to the command.
  expect((await skein.run(["purge"])).code).toBe(0);
  expect([hasObject("only-in-old\n"), hasObject("kept\n"), hasObject("more\n")]).toEqual([false, true, true]);
  expect(await changesOf("kept")).toBe(changes);
  expect((await skein.run(["verify"])).code).toBe(0);
  // Snapshots after it are complete.
  server.setScript(shellScript(["echo only-in-old > old.txt"], "done"));
  await run(skein, "kept");
  expect(hasObject("only-in-old\n")).toBe(true);
  expect(await changesOf("kept")).toContain("old.txt");
});

test("doctor prints the sizes of the stored data and when archived sessions expire", async () => {
  using skein = temporaryHome(vendorEnv("http://127.0.0.1:9"));
  await skein.run(["new", "one"]);
  const { checks } = (await skein.run(["doctor", "--json"])).json() as { checks: { name: string; detail: string }[] };
  expect(checks.find(({ name }) => name === "storage")?.detail).toMatch(/^store [\d.]+ MB, outputs .*; archived sessions expire after 30/);
});
