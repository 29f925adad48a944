// Runs the conformance suite against the SQLite store, and tests that need its file.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeStore } from "../conformance/store.ts";
import { beginTurn, faultCode } from "../fixtures/begin-turn.ts";
import { Db } from "./db.ts";
import { storeFault } from "./faults.ts";
import { agentNode, okTurnEnd, newSession, newTurn, userNode } from "../fixtures/samples.ts";
import { openStore } from "./sqlite-store.ts";
import { Transcript } from "../transcript.ts";
import { transcriptPath } from "../transcript-path.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "skein-store-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function storePaths() {
  const directory = join(root, Bun.randomUUIDv7());
  return { path: join(directory, "store.db"), outputsDir: join(directory, "outputs"), directory };
}

describeStore("a store in a file", async () => {
  const store = await openStore(storePaths());
  return { store, close: () => store.close() };
});

describeStore("a store in memory", async () => {
  const store = await openStore({ path: ":memory:", outputsDir: null });
  return { store, close: () => store.close() };
});

describe("the file of a store", () => {
  test("the files of a store can only be read by their owner", async () => {
    const paths = storePaths();
    const store = await openStore(paths);
    const { lease } = await beginTurn(store);
    const output = store.openOutput(lease, "c", "bash");
    output.write(new Uint8Array(50_000));
    const handle = await output.close({}, 10);
    const mode = (path: string) => statSync(path).mode & 0o777;
    expect([paths.path, `${paths.path}-wal`, join(paths.outputsDir, handle!.identifier)].map(mode)).toEqual([0o600, 0o600, 0o600]);
    expect([paths.directory, paths.outputsDir].map(mode)).toEqual([0o700, 0o700]);
    await store.close();
  });

  test("a store that is opened again has all its data", async () => {
    const paths = storePaths();
    const first = await openStore(paths);
    const { session, lease, turn } = await beginTurn(first);
    await first.appendNode(lease, turn.id, agentNode("stays"));
    const nodes = await first.sessionNodes(session.id);
    await first.close();
    const second = await openStore(paths);
    expect(await second.sessionNodes(session.id)).toEqual(nodes);
    expect((await second.acquire(session.id)).epoch).toBe(2);
    await second.close();
  });

  test("a file that is no database, or belongs to another program or a newer skein, is refused and not changed", async () => {
    const paths = storePaths();
    mkdirSync(paths.directory);
    writeFileSync(paths.path, "this is no database, and it is long enough to be looked at as one".repeat(20));
    expect(await faultCode(openStore(paths))).toBe("store-broken");
    const foreign = storePaths();
    mkdirSync(foreign.directory);
    const other = new Database(foreign.path);
    other.run("create table theirs (a)");
    expect(await faultCode(openStore(foreign))).toBe("store-broken");
    other.run("pragma user_version = 900");
    expect(await faultCode(openStore(foreign))).toBe("store-newer");
    expect(other.query("select name from sqlite_schema").values()).toEqual([["theirs"]]);
    other.close();
  });

  test("a store of an earlier layout is migrated, and keeps the policies of its turns", async () => {
    const paths = storePaths();
    const store = await openStore(paths);
    const { session, turn } = await beginTurn(store);
    await store.close();
    const raw = new Database(paths.path);
    for (const object of [
      "trigger controls_go",
      "trigger call_files_go",
      "index turn_files_by_project",
      "table call_files",
      "table asks",
      "table inputs",
      "table descriptions",
      "table told",
      "index turns_open",
      "index turns_by_end",
      "index turns_by_tip",
      "index sessions_by_worktree",
      "table worktrees",
    ])
      raw.run(`drop ${object}`);
    raw.run("alter table leases drop column state");
    raw.run("alter table events drop column item");
    raw.run("alter table turns drop column cli");
    raw.run("alter table turns drop column role");
    for (const column of ["budget", "check_task", "loop", "checked"]) raw.run(`alter table turns drop column ${column}`);
    raw.run("alter table sessions drop column plan");
    raw.run("alter table sessions drop column worktree");
    raw.run("alter table sessions drop column undone");
    raw.run("update turns set policy = json_remove(policy, '$.addDirs')");
    raw.run("pragma user_version = 4");
    raw.close();
    const again = await openStore(paths);
    expect(await again.session(session.id)).toEqual((await again.listSessions({ project: null }))[0] ?? null);
    expect((await again.turn(turn.id))?.policy).toEqual({ name: "workspace", sandbox: "auto", net: "off", allowWrite: [], addDirs: [] });
    await again.close();
  });

  test("a damaged page is reported as a fault with a hint", async () => {
    const paths = storePaths();
    const store = await openStore(paths);
    const { session, lease, turn } = await beginTurn(store);
    for (let index = 0; index < 50; index++) await store.appendNode(lease, turn.id, agentNode("x".repeat(2000)));
    await store.close();
    const bytes = readFileSync(paths.path);
    bytes.fill(0xaa, 4096 * Math.floor(bytes.length / 4096 / 2));
    writeFileSync(paths.path, bytes);
    const again = await openStore(paths);
    expect(await faultCode(again.sessionNodes(session.id))).toBe("store-broken");
    await again.close();
  });

  test("a full disk is reported as store-full, and the failed write leaves nothing", async () => {
    const db = await Db.open(storePaths().path);
    db.exec("create table filler (a)");
    const { page_count } = db.row<{ page_count: number }>`pragma page_count`!;
    db.exec(`pragma max_page_count = ${page_count}`);
    const fill = () => db.write(() => db.run`insert into filler values (zeroblob(100000))`);
    const thrown = await fill().catch((error: unknown) => storeFault(error, db.path));
    expect(thrown).toMatchObject({ code: "store-full", hint: expect.stringContaining("space") });
    expect(db.rows`select * from filler`).toEqual([]);
    await db.close();
  });

  test("a path that can't be a store is refused with a message", async () => {
    const paths = storePaths();
    mkdirSync(paths.path, { recursive: true });
    expect(await faultCode(openStore(paths))).toBe("file-unwritable");
    const file = join(paths.directory, "file");
    writeFileSync(file, "");
    expect(await faultCode(openStore({ ...paths, path: join(file, "store.db") }))).toBe("file-unwritable");
    chmodSync(file, 0o600);
  });

  test("an output above its limit keeps its head and its tail and states the missing size", async () => {
    const paths = storePaths();
    const store = await openStore({ ...paths, bounds: { memoryBytes: 100, headBytes: 1000, tailBytes: 100 } });
    const { lease } = await beginTurn(store);
    const output = store.openOutput(lease, "c", "bash");
    output.write(new TextEncoder().encode(`${"a".repeat(999)}ü${"b".repeat(5000)}`));
    output.write(new TextEncoder().encode(`${"ü".repeat(40)}ä${"z".repeat(61)}`));
    const handle = await output.close({}, 10);
    expect(handle!.metadata).toMatchObject({ bytes: 999 + 2 + 5000 + 80 + 2 + 61, keptBytes: 999 + 99 });
    const text = await new Response(await store.readOutput(handle!.identifier)).text();
    expect(text).toBe(`${"a".repeat(999)}\n[... 5046 bytes not kept ...]\n${"ü".repeat(18)}ä${"z".repeat(61)}`);
    expect((await store.verify({})).problems).toEqual([]);
    await store.close();
  });
});

describe("verify", () => {
  test("verify reports a missing node for its child, its session and its events", async () => {
    const paths = storePaths();
    const store = await openStore(paths);
    const { session, lease, turn } = await beginTurn(store);
    const middle = (await store.appendNode(lease, turn.id, agentNode("a"))).value;
    const last = (await store.appendNode(lease, turn.id, agentNode("b"))).value;
    await store.endTurn(lease, turn.id, okTurnEnd);
    const raw = new Database(paths.path);
    raw.run("delete from nodes where id = ?", [middle.id]);
    expect((await store.verify({})).problems.map((problem) => problem.kind)).toEqual(["node", "event"]);
    expect(await faultCode(store.path(last.id))).toBe("store-broken");
    raw.run("delete from nodes where id = ?", [last.id]);
    const { problems } = await store.verify({});
    expect(problems).toContainEqual({ kind: "session", subject: session.id, message: expect.stringContaining("missing") });
    expect(problems).toContainEqual({ kind: "turn", subject: turn.id, message: expect.stringContaining("missing") });
    raw.run("update turns set status = null");
    raw.run("delete from events where seq = 2");
    const messages = (await store.verify({})).problems.map((problem) => problem.message).join("\n");
    expect(messages).toContain("without a status");
    expect(messages).toContain("of its 5 events");
    raw.close();
    await store.close();
  });

  test("verify reports a damaged full-text index", async () => {
    const paths = storePaths();
    const store = await openStore(paths);
    const { lease, turn } = await beginTurn(store);
    await store.appendNode(lease, turn.id, agentNode("needle"));
    expect(await store.search("needle", { project: null, limit: 5 })).toHaveLength(1);
    await store.close();
    const raw = new Database(paths.path);
    const { rootpage } = raw.query<{ rootpage: number }, []>("select rootpage from sqlite_schema where name = 'words_data'").get()!;
    raw.close();
    const bytes = readFileSync(paths.path);
    const page = bytes.subarray((rootpage - 1) * 4096, rootpage * 4096);
    page.fill(0xff, page.indexOf("needle") - 2, page.indexOf("needle") + 6);
    writeFileSync(paths.path, bytes);
    const damaged = await openStore(paths);
    expect((await damaged.verify({})).problems.map((problem) => problem.kind)).toContain("database");
    await damaged.close();
  });

  test("verify names an output that was changed, cut or lost", async () => {
    const paths = storePaths();
    const store = await openStore(paths);
    const { lease } = await beginTurn(store);
    const files: string[] = [];
    for (const call of ["a", "b", "c"]) {
      const output = store.openOutput(lease, call, "bash");
      output.write(new Uint8Array(50_000));
      files.push(join(paths.outputsDir, (await output.close({}, 10))!.identifier));
    }
    expect((await store.verify({})).problems).toEqual([]);
    writeFileSync(files[0]!, new Uint8Array(50_000).fill(1));
    writeFileSync(files[1]!, new Uint8Array(10));
    rmSync(files[2]!);
    const messages = (await store.verify({})).problems.map((problem) => problem.message);
    expect(messages).toEqual([expect.stringContaining("hash"), expect.stringContaining("10 bytes"), expect.stringContaining("missing")]);
    await store.close();
  });

  test("verify reports missing transcript lines, except for a last line that is cut off and in a running session", async () => {
    const paths = storePaths();
    const store = await openStore(paths);
    const { session, lease, turn } = await beginTurn(store);
    const path = transcriptPath(join(paths.directory, ".skein", "sessions"), session);
    const transcript = Transcript.open(path, session);
    await store.updateSession(session.id, { transcript: path });
    await store.appendNode(lease, turn.id, agentNode("a"));
    for (const node of await store.sessionNodes(session.id)) transcript.append(node);
    const last = (await store.appendNode(lease, turn.id, agentNode("b"))).value;
    expect((await store.verify({})).problems).toEqual([]);
    await store.endTurn(lease, turn.id, okTurnEnd);
    await store.release(lease);
    expect((await store.verify({})).problems).toMatchObject([{ kind: "transcript", message: expect.stringContaining(last.id) }]);
    transcript.append(last);
    expect(await store.verify({})).toMatchObject({ transcripts: 1, problems: [] });
    const lines = readFileSync(path, "utf8").split("\n");
    writeFileSync(path, lines.toSpliced(2, 1).join("\n"));
    expect((await store.verify({})).problems).toHaveLength(1);
    writeFileSync(path, lines.join("\n").slice(0, -5));
    expect((await store.verify({})).problems).toEqual([]);
    rmSync(path);
    expect((await store.verify({})).problems).toMatchObject([{ kind: "transcript", subject: path }]);
    transcript.close();
    await store.close();
  });
});

const writer = join(import.meta.dir, "..", "fixtures", "writer.ts");

function start(mode: "hold" | "append", paths: ReturnType<typeof storePaths>, argument: string) {
  return Bun.spawn([process.execPath, writer, mode, paths.path, paths.outputsDir, argument], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

/** Reads until `count` lines have arrived, and stops reading. */
async function firstLines(stream: ReadableStream<Uint8Array>, count: number): Promise<string[]> {
  let text = "";
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk);
    if (text.split("\n").length > count) break;
  }
  return text.split("\n").slice(0, -1);
}

describe("several processes", () => {
  test("a session is refused while its holder runs, and can be acquired once the holder was killed", async () => {
    const paths = storePaths();
    const store = await openStore(paths);
    const session = await store.createSession(newSession({ name: "mine" }));
    const child = start("hold", paths, session.id);
    const [turn] = await firstLines(child.stdout, 1);
    const refusal = await store.acquire(session.id).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      code: "session-busy",
      message: expect.stringContaining(`mine is in use by process ${child.pid} since `),
    });
    child.kill("SIGKILL");
    await child.exited;
    const lease = await store.acquire(session.id);
    expect(lease.epoch).toBe(2);
    expect((await store.openTurns(session.id)).map((open) => open.id)).toEqual([turn!]);
    expect(await store.drafts(turn!)).toEqual([{ key: "text", text: "half an ans" }]);
    const printed = await new Response(await store.readOutput(`${session.id}/1`)).text();
    expect(printed).toBe("A".repeat(100_000));
    const output = store.openOutput(lease, "c2", "bash");
    output.write(new Uint8Array(40_000));
    expect((await output.close({}, 10))?.identifier).toBe(`${session.id}/2`);
    expect((await store.verify({})).problems).toEqual([]);
    await store.close();
  });

  test("a turn does not end before its start if the clock is set back", async () => {
    const store = await openStore(storePaths());
    const { lease, turn } = await beginTurn(store);
    try {
      setSystemTime(turn.startedAt - 60_000);
      const ended = (await store.endTurn(lease, turn.id, okTurnEnd)).value;
      expect(ended.endedAt).toBe(turn.startedAt);
    } finally {
      setSystemTime();
    }
    await store.close();
  });

  test("the host can acquire the session of an ended container, and not that of a running container", async () => {
    if (process.platform !== "linux") return;
    const paths = storePaths();
    const outside = { ...paths, holder: { namespace: "pid:[4026531836]" } };
    const ended = await openStore({ ...paths, holder: { namespace: "pid:[7]", started: "1" } });
    const session = await ended.createSession(newSession());
    await ended.acquire(session.id);
    const host = await openStore(outside);
    await host.release(await host.acquire(session.id));
    const running = await openStore({ ...paths, holder: { namespace: "pid:[7]" } });
    await running.acquire(session.id);
    expect(await faultCode(host.acquire(session.id))).toBe("session-busy");
    for (const store of [ended, running, host]) await store.close();
  });

  test("a holder is identified by boot id, pid namespace, pid and start time", async () => {
    const paths = storePaths();
    const earlierBoot = await openStore({ ...paths, holder: { boot: "earlier" } });
    const container = await openStore({ ...paths, holder: { namespace: "elsewhere" } });
    const current = await openStore(paths);
    const recycledPid = await openStore({ ...paths, holder: { started: "1" } });
    const session = await current.createSession(newSession());
    const stale = await earlierBoot.acquire(session.id);
    const lease = await recycledPid.acquire(session.id);
    expect(lease.epoch).toBe(2);
    expect(await faultCode(earlierBoot.appendNode(stale, null, userNode("late")))).toBe("lease-lost");
    expect((await current.acquire(session.id)).epoch).toBe(3);
    await current.close();
    await container.acquire(session.id);
    const otherContainer = await openStore({ ...paths, holder: { namespace: "pid:[8]" } });
    expect(await faultCode(otherContainer.acquire(session.id))).toBe("session-busy");
    for (const store of [earlierBoot, container, recycledPid, otherContainer]) await store.close();
  });

  test("four processes create a new store and write to it at once", async () => {
    const paths = storePaths();
    const children = [1, 2, 3, 4].map(() => start("append", paths, "150"));
    const printed = await Promise.all(children.map((child) => new Response(child.stdout).text()));
    const errors = await Promise.all(children.map((child) => new Response(child.stderr).text()));
    expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0, 0]);
    expect(errors.join("")).toBe("");
    const store = await openStore(paths);
    for (const text of printed) {
      const ids = text.trim().split("\n");
      expect((await store.path(ids.at(-1)!)).slice(1).map((node) => node.id)).toEqual(ids);
    }
    expect(await store.verify({})).toMatchObject({ sessions: 4, nodes: 4 * 151, problems: [] });
    await store.close();
  });

  test("a process that is killed while it appends loses no confirmed node", async () => {
    const paths = storePaths();
    const child = start("append", paths, "100000");
    const ids = await firstLines(child.stdout, 300);
    child.kill("SIGKILL");
    await child.exited;
    expect(ids.length).toBeGreaterThanOrEqual(300);
    const store = await openStore(paths);
    const [session] = await store.listSessions({ project: null });
    const stored = new Set((await store.sessionNodes(session!.id)).map((node) => node.id));
    expect(ids.filter((id) => !stored.has(id))).toEqual([]);
    expect((await store.verify({})).problems).toEqual([]);
    const lease = await store.acquire(session!.id);
    const [open] = await store.openTurns(session!.id);
    await store.endTurn(lease, open!.id, { ...okTurnEnd, status: "killed" });
    expect((await store.startTurn(lease, newTurn())).value.parent).toBe((await store.turn(open!.id))!.tip);
    await store.close();
  });

  test("a store in memory leaves no file", async () => {
    const store = await openStore({ path: ":memory:", outputsDir: null });
    const { lease } = await beginTurn(store);
    const output = store.openOutput(lease, "c", "bash");
    output.write(new Uint8Array(50_000));
    await output.close({}, 10);
    await store.close();
    expect(existsSync(":memory:")).toBe(false);
  });
});
