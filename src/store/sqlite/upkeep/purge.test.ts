import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import { beginTurn, faultCode } from "../../fixtures/begin-turn.ts";
import { agentNode, okTurnEnd, newSession, userNode } from "../../fixtures/samples.ts";
import { openStore } from "../sqlite-store.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Store } from "../../store.ts";
import { catchUp, Transcript } from "../../transcript.ts";
import { transcriptPath } from "../../transcript-path.ts";

const root = mkdtempSync(join(tmpdir(), "skein-purge-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function openInTemp() {
  const directory = join(root, Bun.randomUUIDv7());
  const paths = { path: join(directory, "store.db"), outputsDir: join(directory, "outputs"), agentsDir: join(directory, "agents") };
  return { ...paths, directory, store: await openStore(paths) };
}

/** Creates a session with a turn of three nodes that contain `word`, an output and a transcript. */
async function createWork(store: Store, directory: string, word: string, change = {}) {
  const { session, lease, turn } = await beginTurn(store, change);
  const first = (await store.appendNode(lease, turn.id, agentNode(`${word} first`))).value;
  const output = store.openOutput(lease, "c1", "bash");
  output.write(new Uint8Array(50_000).fill(65));
  const handle = (await output.close({}, 10))!;
  const last = (
    await store.appendNode(lease, turn.id, {
      author: "tool",
      parts: [{ kind: "result", call: "c1", name: "bash", text: `${word} last`, isError: false, handle }],
    })
  ).value;
  await store.endTurn(lease, turn.id, okTurnEnd);
  await store.release(lease);
  const path = transcriptPath(join(directory, "sessions"), session);
  const transcript = Transcript.open(path, session);
  await catchUp(transcript, await store.sessionNodes(session.id));
  transcript.close();
  await store.updateSession(session.id, { transcript: path });
  return { id: session.id, tree: session.tree, first, last, turn, handle, path };
}

const everything = { session: null, archivedBefore: Number.MAX_SAFE_INTEGER, dryRun: false };
const countHits = async (store: Store, word: string) => (await store.search(word, { project: null, limit: 50 })).length;

test("a purge deletes an archived session with its nodes, turns, outputs, words and transcript, and nothing else", async () => {
  const opened = await openInTemp();
  const { store } = opened;
  const gone = await createWork(store, opened.directory, "alpha", { name: "gone" });
  const stays = await createWork(store, opened.directory, "beta");
  expect(await countHits(store, "alpha")).toBe(2);
  for (const [{ id }, body] of [
    [gone, "description of the purged session"],
    [stays, "description of the other session"],
  ] as const)
    await store.saveDescription(id, "a", { stamp: await store.sessionStamp(id), body });
  await store.updateSession(gone.id, { archivedAt: 5 });
  const dryRun = await store.purge({ ...everything, dryRun: true });
  expect(await countHits(store, "alpha")).toBe(2);
  const report = await store.purge(everything);
  expect(report).toMatchObject({ nodes: 3, keptNodes: 0, turns: 1, outputs: 1, transcripts: 1, skipped: [], problems: [] });
  expect(report.sessions).toEqual([{ id: gone.id, name: "gone", project: "/project", archivedAt: 5 }]);
  expect(dryRun).toEqual({ ...report, dryRun: true });
  expect(report.bytes).toBeGreaterThan(50_000);
  expect(await store.session(gone.id)).toBeNull();
  expect(await store.node(gone.last.id)).toBeNull();
  expect(await store.turn(gone.turn.id)).toBeNull();
  expect(await countHits(store, "alpha")).toBe(0);
  expect([existsSync(gone.path), existsSync(stays.path)]).toEqual([false, true]);
  expect(readdirSync(opened.outputsDir)).toEqual([stays.id]);
  expect(await countHits(store, "beta")).toBe(2);
  expect(await store.verify({})).toMatchObject({ sessions: 1, nodes: 3, turns: 1, handles: 1, transcripts: 1, problems: [] });
  const raw = new Database(opened.path);
  for (const table of ["trees", "sessions", "leases", "turns"]) expect(raw.query(`select count(*) from ${table}`).values()).toEqual([[1]]);
  expect(raw.query("select body from descriptions").values()).toEqual([["description of the other session"]]);
  expect(raw.query("select count(*) from words_docsize").values()).toEqual([[3]]);
  raw.run("insert into words (words) values ('integrity-check')");
  raw.close();
  await store.close();
});

test("a search does not return nodes of a session that is being purged, so that they do not replace those of others", async () => {
  const opened = await openInTemp();
  const { store } = opened;
  const gone = await createWork(store, opened.directory, "delta", { name: "gone" });
  const stays = await createWork(store, opened.directory, "delta");
  // A purge marks the session first, and deletes its nodes later.
  using database = new Database(opened.path);
  database.run("update sessions set archived_at = 1, purged_at = 1, tip = null where id = ?", [gone.id]);
  const hits = await store.search("delta", { project: null, limit: 2 });
  expect(hits.map(({ session }) => session)).toEqual([stays.id, stays.id]);
});

test("a purge deletes the logs and data of other agents, unless a session of the tree is in use", async () => {
  const opened = await openInTemp();
  const { store } = opened;
  const gone = await createWork(store, opened.directory, "gamma", { name: "gone" });
  const other = await store.forkSession(gone.id, gone.first.id, { name: "other" });
  const agentData = join(opened.agentsDir, gone.tree, "claude", "projects", "native-session.jsonl");
  const logs = ["stdout", "stderr"].map((stream) => gone.path.replace(".jsonl", `.claude.${stream}.log`));
  const otherLog = join(opened.directory, "sessions", "another.claude.stdout.log");
  for (const path of [agentData, ...logs, otherLog]) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "gamma");
  }
  await store.updateSession(gone.id, { archivedAt: 5 });
  const lease = await store.acquire(other.id);
  await store.purge(everything);
  expect([agentData, ...logs, otherLog].map((path) => existsSync(path))).toEqual([true, false, false, true]);
  await store.release(lease);
  await store.purge(everything);
  expect([agentData, otherLog].map((path) => existsSync(path))).toEqual([false, true]);
});

test("nodes on the path of a fork stay, with their turn and output, until the fork is purged too", async () => {
  const opened = await openInTemp();
  const { store } = opened;
  const trunk = await createWork(store, opened.directory, "alpha");
  const fork = await store.forkSession(trunk.id, trunk.last.id, { name: "fork" });
  const lease = await store.acquire(trunk.id);
  const afterFork = (await store.appendNode(lease, null, userNode("alpha after the fork"))).value;
  await store.release(lease);
  const path = await store.path(trunk.last.id);
  await store.updateSession(trunk.id, { archivedAt: 5 });
  const request = { ...everything, session: trunk.id };
  const dryRun = await store.purge({ ...request, dryRun: true });
  const report = await store.purge(request);
  expect(report).toMatchObject({ nodes: 1, keptNodes: 3, turns: 0, outputs: 0, transcripts: 1 });
  expect(dryRun).toEqual({ ...report, dryRun: true });
  expect(await store.path(trunk.last.id)).toEqual(path);
  expect(await store.node(afterFork.id)).toBeNull();
  expect(await store.session(trunk.id)).toBeNull();
  expect(await faultCode(store.findSession(trunk.id, null))).toBe("session-unknown");
  expect(await faultCode(store.acquire(trunk.id))).toBe("session-unknown");
  expect(await store.listSessions({ project: null, archived: true })).toEqual([]);
  expect(await store.turn(trunk.turn.id)).toMatchObject({ tip: trunk.last.id, parent: null });
  expect((await new Response(await store.readOutput(trunk.handle.identifier)).text()).length).toBe(50_000);
  const hits = await store.search("alpha", { project: null, limit: 5 });
  expect(hits.map((hit) => hit.session)).toEqual([fork.id, fork.id]);
  expect((await store.verify({})).problems).toEqual([]);
  await store.updateSession(fork.id, { archivedAt: 5 });
  expect(await store.purge(everything)).toMatchObject({ nodes: 3, keptNodes: 0, turns: 1, outputs: 1 });
  expect(await store.verify({})).toMatchObject({ sessions: 0, nodes: 0, turns: 0, problems: [] });
  expect(readdirSync(opened.outputsDir)).toEqual([]);
  await store.close();
});

test("an output that a node in another tree refers to stays readable", async () => {
  const opened = await openInTemp();
  const { store } = opened;
  const source = await createWork(store, opened.directory, "alpha");
  const other = await beginTurn(store);
  await store.appendNode(other.lease, other.turn.id, { author: "user", parts: [{ kind: "handle", handle: source.handle, excerpt: "A" }] });
  await store.updateSession(source.id, { archivedAt: 5 });
  expect(await store.purge(everything)).toMatchObject({ nodes: 3, outputs: 0 });
  expect((await new Response(await store.readOutput(source.handle.identifier)).text()).length).toBe(50_000);
  expect((await store.verify({})).problems).toEqual([]);
  await store.close();
});

test("a purge deletes only sessions archived before the requested time, and never one that is in use", async () => {
  const opened = await openInTemp();
  const { store } = opened;
  const [old, young, live, used] = [
    await createWork(store, opened.directory, "old"),
    await createWork(store, opened.directory, "young"),
    await createWork(store, opened.directory, "live", { name: "live" }),
    await createWork(store, opened.directory, "used"),
  ];
  const holder = await openStore(opened);
  const lease = await holder.acquire(used.id);
  for (const [session, archivedAt] of [
    [old, 100],
    [young, 300],
    [used, 100],
  ] as const) {
    await store.updateSession(session.id, { archivedAt });
  }
  const request = { session: null, archivedBefore: 200, dryRun: false };
  const report = await store.purge(request);
  expect(report.sessions.map((session) => session.id)).toEqual([old.id]);
  expect(report.skipped).toEqual([{ id: used.id, name: null, reason: "it is in use" }]);
  expect(await faultCode(store.purge({ ...request, session: used.id }))).toBe("session-busy");
  expect(await faultCode(store.purge({ ...request, session: young.id }))).toBe("usage");
  expect(await faultCode(store.purge({ ...request, session: live.id }))).toBe("usage");
  expect(await faultCode(store.purge({ ...request, session: "none" }))).toBe("session-unknown");
  await holder.release(lease);
  expect((await store.purge({ ...request, session: used.id })).sessions).toHaveLength(1);
  expect((await store.verify({})).problems).toEqual([]);
  for (const each of [holder, store]) await each.close();
});

test("sub-sessions are purged with their parent, unless they were used since or execute its plan", async () => {
  const { store, path } = await openInTemp();
  const parent = await store.createSession(newSession());
  const child = await store.createSession(newSession({ parentSession: parent.id }));
  const grandchild = await store.createSession(newSession({ parentSession: child.id }));
  const usedSince = await store.createSession(newSession({ parentSession: parent.id }));
  const executing = await store.createSession(newSession({ parentSession: parent.id, plan: "1. do" }));
  const archivedAt = Date.now() + 1000;
  await store.updateSession(parent.id, { archivedAt });
  const raw = new Database(path);
  raw.run("update sessions set updated_at = ? where id = ?", [archivedAt + 1, usedSince.id]);
  raw.close();
  const { sessions } = await store.purge(everything);
  expect(sessions.map((session) => session.id).toSorted()).toEqual([parent.id, child.id, grandchild.id].toSorted());
  for (const { id } of [usedSince, executing]) expect(await store.session(id)).not.toBeNull();
  await store.close();
});

test("a node that becomes the tip of a session during the purge stays", async () => {
  const opened = await openInTemp();
  const { store } = opened;
  const trunk = await createWork(store, opened.directory, "alpha");
  const side = await store.forkSession(trunk.id, trunk.first.id, { name: "side" });
  const lease = await store.acquire(trunk.id);
  for (let index = 0; index < 1000; index++) await store.appendNode(lease, null, userNode(`alpha ${index}`));
  const middle = (await store.sessionPath(trunk.id))[500]!;
  await store.release(lease);
  await store.updateSession(trunk.id, { archivedAt: 5 });
  const other = await openStore(opened);
  const purging = store.purge(everything);
  let fork: Session | null = null;
  for (let tries = 0; fork === null && tries < 1000; tries++) {
    await yieldToEventLoop();
    if ((await other.session(trunk.id)) === null) fork = await other.forkSession(side.id, middle.id, { name: null });
  }
  const report = await purging;
  expect(report.nodes).toBe(1003 - 501);
  expect(await store.path(fork?.tip ?? "")).toHaveLength(501);
  expect((await store.verify({})).problems).toEqual([]);
  for (const each of [other, store]) await each.close();
});
