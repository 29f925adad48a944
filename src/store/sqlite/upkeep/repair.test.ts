import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { beginTurn } from "../../fixtures/begin-turn.ts";
import { agentNode, okTurnEnd } from "../../fixtures/samples.ts";
import { openStore } from "../sqlite-store.ts";
import type { Store } from "../../store.ts";
import { catchUp, Transcript } from "../../transcript.ts";
import { transcriptPath } from "../../transcript-path.ts";

const root = mkdtempSync(join(tmpdir(), "skein-repair-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function openInTemp(holder = {}) {
  const directory = join(root, Bun.randomUUIDv7());
  const paths = { path: join(directory, "store.db"), outputsDir: join(directory, "outputs") };
  return { ...paths, directory, store: await openStore({ ...paths, holder }) };
}

async function createSession(store: Store, directory: string, count = 5) {
  const { session, lease, turn } = await beginTurn(store);
  for (let index = 0; index < count; index++) await store.appendNode(lease, turn.id, agentNode(`word${index} said`));
  await store.endTurn(lease, turn.id, okTurnEnd);
  await store.release(lease);
  const path = transcriptPath(join(directory, ".skein", "sessions"), session);
  const transcript = Transcript.open(path, session);
  await catchUp(transcript, await store.sessionNodes(session.id));
  transcript.close();
  await store.updateSession(session.id, { transcript: path });
  return { session, path, content: readFileSync(path, "utf8") };
}

const repairedKinds = (report: Awaited<ReturnType<Store["verify"]>>) => report.repaired?.map((item) => item.kind);

test("a repair fills a gap, a torn end and a damaged line from the store, and loses no line of the file", async () => {
  const { store, directory } = await openInTemp();
  const { path, content } = await createSession(store, directory);
  const lines = content.split("\n");
  writeFileSync(path, lines.toSpliced(3, 2).join("\n"));
  expect(repairedKinds(await store.verify({ repair: true }))).toEqual(["transcript"]);
  expect(readFileSync(path, "utf8")).toBe(content);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  writeFileSync(path, content.slice(0, -20));
  expect(await store.verify({ repair: true })).toMatchObject({ repaired: [{ subject: path }], problems: [] });
  expect(readFileSync(path, "utf8")).toBe(content);
  const foreign = JSON.stringify({ ...JSON.parse(lines[2]!), id: "elsewhere" });
  writeFileSync(path, [...lines.slice(0, 3), foreign, "{ damaged", ...lines.slice(5)].join("\n"));
  expect((await store.verify({ repair: true })).problems).toEqual([]);
  expect(readFileSync(path, "utf8")).toBe(lines.toSpliced(3, 0, foreign).join("\n"));
  expect(readFileSync(`${path}.damaged`, "utf8")).toContain("{ damaged");
  expect(readdirSync(dirname(path))).toHaveLength(2);
  expect((await store.verify({ repair: true })).repaired).toEqual([]);
  await store.close();
});

test("a missing transcript is written again, unless its project is missing too", async () => {
  const { store, directory } = await openInTemp();
  const { path, content } = await createSession(store, directory);
  rmSync(path);
  expect(await store.verify({ repair: true })).toMatchObject({ repaired: [{ kind: "transcript" }], problems: [] });
  expect(readFileSync(path, "utf8")).toBe(content);
  const otherPath = join(directory, "project", ".skein", "sessions", "x.jsonl");
  const [session] = await store.listSessions({ project: null });
  await store.updateSession(session!.id, { transcript: otherPath });
  expect(await store.verify({ repair: true })).toMatchObject({ repaired: [], problems: [{ kind: "transcript", subject: otherPath }] });
  expect(existsSync(join(directory, "project"))).toBe(false);
  await store.close();
});

test("a repair releases the leases of ended processes, and no others", async () => {
  const ended = await openInTemp({ boot: "earlier" });
  const { session } = await beginTurn(ended.store);
  const store = await openStore(ended);
  const running = await beginTurn(store);
  const report = await store.verify({ repair: true });
  expect(report).toMatchObject({ repaired: [{ kind: "lease", subject: session.id }], problems: [] });
  await store.appendNode(running.lease, running.turn.id, agentNode("still mine"));
  expect(await store.openTurns(session.id)).toHaveLength(1);
  for (const each of [ended.store, store]) await each.close();
});

test("a full-text index with missing or extra words is rebuilt", async () => {
  const { store, path, directory } = await openInTemp();
  await createSession(store, directory, 700);
  const countHits = async () => (await store.search("said", { project: null, limit: 1000 })).length;
  expect(await countHits()).toBe(700);
  const raw = new Database(path);
  raw.run("insert into words (words) values ('delete-all')");
  expect(await countHits()).toBe(0);
  expect((await store.verify({})).problems).toMatchObject([{ kind: "search", message: expect.stringContaining("701 nodes") }]);
  expect(await store.verify({ repair: true })).toMatchObject({ repaired: [{ kind: "search" }], problems: [] });
  expect(await countHits()).toBe(700);
  raw.close();
  await store.close();
});

test("output files without a row are removed, and those of a running call stay", async () => {
  const { store, outputsDir } = await openInTemp();
  const { session, lease } = await beginTurn(store);
  const output = store.openOutput(lease, "c1", "bash");
  output.write(new Uint8Array(100_000));
  mkdirSync(join(outputsDir, "unknown"));
  writeFileSync(join(outputsDir, "unknown", "3"), "x");
  expect(await store.verify({ repair: true })).toMatchObject({ repaired: [{ kind: "output", subject: "unknown/3" }], problems: [] });
  expect(readdirSync(outputsDir)).toEqual([session.id]);
  expect(await output.close({}, 10)).not.toBeNull();
  await store.close();
});

test("a damaged page is listed with everything it hides, and a repair deletes nothing", async () => {
  const { store, path, directory } = await openInTemp();
  const { path: transcript, content } = await createSession(store, directory, 400);
  await store.close();
  const bytes = readFileSync(path);
  bytes.fill(0xaa, 4096 * 30, 4096 * 32);
  writeFileSync(path, bytes);
  const damaged = await openStore({ path, outputsDir: null });
  for (const repair of [false, true]) {
    const { problems } = await damaged.verify({ repair });
    expect(problems.map((problem) => problem.kind)).toContain("database");
  }
  expect(readFileSync(transcript, "utf8").length).toBeGreaterThanOrEqual(content.length);
  await damaged.close();
});

test("a transcript that is a link is neither followed nor replaced, and is listed as a problem", async () => {
  const { store, directory } = await openInTemp();
  const { path, content } = await createSession(store, directory);
  const gap = content.split("\n").toSpliced(2, 1).join("\n");
  const outside = join(directory, "outside");
  writeFileSync(outside, gap);
  rmSync(path);
  symlinkSync(outside, path);
  expect(await store.verify({ repair: true })).toMatchObject({ repaired: [], problems: [{ kind: "transcript", subject: path }] });
  expect(readFileSync(outside, "utf8")).toBe(gap);
  expect(readdirSync(dirname(path))).toEqual([basename(path)]);
  await store.close();
});
