// The index of recorded transcripts of real agents, while they grow, tear, disappear and are written anew.
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { AgentTranscripts, IndexedTranscript, TranscriptFilter } from "../../../protocol/transcripts/agent-transcript.ts";
import { readTranscript } from "../import/read-transcript.ts";
import { createAgentTranscripts } from "./agent-transcripts.ts";

const fixtures = join(import.meta.dir, "../../../../test/fixtures/transcripts");
const everything: TranscriptFilter = { agents: null, project: null, limit: 50 };
const places = {
  claude: ".claude/projects/-home-user-project/one.jsonl",
  codex: ".codex/sessions/2026/11/16/rollout-1.jsonl",
  gemini: ".gemini/tmp/abc/chats/session-1.jsonl",
  pi: ".pi/agent/sessions/--home-user--/1.jsonl",
};

let home: string;
let port: AgentTranscripts;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "skein-transcripts-"));
  port = createAgentTranscripts(join(home, "skein", "index.db"), { env: {}, home });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const pathOf = (agent: keyof typeof places) => join(home, places[agent]);
const recorded = (agent: string) => join(fixtures, agent, "session.jsonl");

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function putAll(): void {
  for (const agent of Object.keys(places) as (keyof typeof places)[]) put(pathOf(agent), readFileSync(recorded(agent), "utf8"));
  putOpencode();
}

/** A database with the tables of opencode 1.18, in WAL mode with an open log as while opencode runs. */
function putOpencode(): string {
  const path = join(home, ".local/share/opencode/opencode.db");
  mkdirSync(dirname(path), { recursive: true });
  const session = JSON.parse(readFileSync(join(fixtures, "opencode/session.json"), "utf8")) as {
    info: { id: string; directory: string; time_created: number; time_updated: number };
    messages: { info: { id: string; time: { created: number } }; parts: { id: string }[] }[];
  };
  const build = join(home, "build.db");
  const db = new Database(build);
  db.run("pragma journal_mode = wal");
  db.run("create table session (id text, parent_id text, directory text, time_created integer, time_updated integer)");
  for (const table of ["message (id text, session_id text", "part (id text, message_id text, session_id text"])
    db.run(`create table ${table}, time_created integer, data text)`);
  const { id, directory, time_created, time_updated } = session.info;
  db.query("insert into session values (?, null, ?, ?, ?)").run(id, directory, time_created, time_updated);
  for (const { info, parts } of session.messages) {
    db.query("insert into message values (?, ?, ?, ?)").run(info.id, id, info.time.created, JSON.stringify(info));
    for (const part of parts) db.query("insert into part values (?, ?, ?, ?, ?)").run(part.id, info.id, id, 0, JSON.stringify(part));
  }
  for (const suffix of ["", "-wal"]) cpSync(build + suffix, path + suffix);
  db.close();
  return path;
}

/** Names, sizes, times and contents of the other agents' directories. */
function snapshot(): string[] {
  return [".claude", ".codex", ".gemini", ".pi", ".local"].flatMap((directory) => {
    const root = join(home, directory);
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
      .map((path) => {
        const stat = statSync(path);
        return `${path} ${stat.mode} ${stat.mtimeMs} ${stat.isFile() ? Bun.hash(readFileSync(path)) : readdirSync(path).length}`;
      });
  });
}

const listed = async (filter: Partial<TranscriptFilter> = {}) => {
  await port.update(null);
  return port.list({ ...everything, ...filter });
};
const only = async (agent: string): Promise<IndexedTranscript> => {
  const found = (await listed()).filter((transcript) => transcript.agent === agent);
  expect(found).toHaveLength(1);
  return found[0]!;
};

describe("the index of transcripts", () => {
  test("lists the sessions of all five agents with their tasks, and changes no file of theirs", async () => {
    putAll();
    const before = snapshot();
    const transcripts = await listed();
    const rows = transcripts.map(({ agent, task, latestPrompt, directory }) => ({ agent, task, latestPrompt, directory }));
    const task = "TASK one: how many words are in the two notes?";
    const second = "TASK two: and which note is longer?";
    expect(rows.toSorted((a, b) => (a.agent < b.agent ? -1 : 1))).toEqual([
      { agent: "claude", task, latestPrompt: expect.stringContaining("TASK two"), directory: "/home/user/project" },
      { agent: "codex", task, latestPrompt: second, directory: "/home/user/project" },
      { agent: "gemini", task, latestPrompt: second, directory: null },
      {
        agent: "opencode",
        task: "Say one, two, three.",
        latestPrompt: "And once more, run two commands.",
        directory: "/home/user/project",
      },
      { agent: "pi", task, latestPrompt: second, directory: "/home/user/project" },
    ]);
    expect(await port.search("words notes", everything)).not.toHaveLength(0);
    for (const transcript of transcripts) await port.open(transcript);
    expect(snapshot()).toEqual(before);
  });

  test("the id of a transcript is the end of the id that its imported session gets", async () => {
    putAll();
    for (const transcript of await listed()) {
      const tree = await readTranscript(await port.open(transcript), transcript.agent);
      expect(tree.main.slice(-12)).toBe(transcript.id);
      expect(await port.find(tree.main.slice(-8))).toEqual(transcript);
      expect(await port.find(transcript.nativeId.startsWith("ses_") ? tree.main : transcript.nativeId)).toEqual(transcript);
    }
  });

  test("a transcript that grows is read from where the last reading ended, and a torn line waits for its end", async () => {
    const lines = readFileSync(recorded("codex"), "utf8").trimEnd().split("\n");
    put(pathOf("codex"), `${lines.slice(0, 20).join("\n")}\n`);
    const first = await only("codex");
    const [torn, rest] = [lines[20]!.slice(0, 30), lines[20]!.slice(30)];
    appendFileSync(pathOf("codex"), torn);
    expect((await only("codex")).messages).toBe(first.messages);
    appendFileSync(pathOf("codex"), `${rest}\n${lines.slice(21).join("\n")}\n`);
    const grown = await only("codex");
    put(pathOf("codex"), "");
    rmSync(pathOf("codex"));
    expect(await listed()).toEqual([]);
    put(pathOf("codex"), readFileSync(recorded("codex"), "utf8"));
    expect({ ...(await only("codex")), updatedAt: 0 }).toEqual({ ...grown, updatedAt: 0 });
    expect((await port.search("longer", everything)).length).toBeGreaterThan(0);
  });

  test("a file that was written anew is read anew, and words of its old content are no longer found", async () => {
    put(pathOf("claude"), readFileSync(recorded("claude"), "utf8"));
    expect((await only("claude")).task).toContain("TASK one");
    const other = readFileSync(recorded("claude"), "utf8").replaceAll("TASK one", "JOB other");
    put(pathOf("claude"), `${other}${other}`);
    expect((await only("claude")).task).toContain("JOB other");
    expect(await port.search('"TASK one"', everything)).toEqual([]);
  });

  test("two updates at once add each message once", async () => {
    putAll();
    const second = createAgentTranscripts(join(home, "skein", "index.db"), { env: {}, home });
    await port.update([]);
    await Promise.all([port.update(null), second.update(null)]);
    const counts = (await port.list(everything)).map(({ agent, messages }) => `${agent} ${messages}`);
    const fresh = createAgentTranscripts(join(home, "skein", "other.db"), { env: {}, home });
    await fresh.update(null);
    expect(counts.toSorted()).toEqual((await fresh.list(everything)).map(({ agent, messages }) => `${agent} ${messages}`).toSorted());
  });

  test("a damaged index is made again", async () => {
    putAll();
    const before = await listed();
    for (const suffix of ["-wal", "-shm"]) rmSync(join(home, "skein", `index.db${suffix}`), { force: true });
    writeFileSync(join(home, "skein", "index.db"), "this is no database, it is a text of some length ".repeat(100));
    port = createAgentTranscripts(join(home, "skein", "index.db"), { env: {}, home });
    expect(await listed()).toEqual(before);
  });

  test("an index with damaged pages is made again by the list or the search that reads them", async () => {
    putAll();
    const path = join(home, "skein", "index.db");
    const before = await listed();
    const found = await port.search("words", everything);
    const damage = async (from: number) => {
      const db = new Database(path);
      db.run("pragma wal_checkpoint(truncate)");
      db.close();
      const bytes = readFileSync(path);
      writeFileSync(path, Buffer.concat([bytes.subarray(0, from), Buffer.alloc(bytes.length - from, 0xff)]));
      port = createAgentTranscripts(path, { env: {}, home });
    };
    await damage(4_096);
    expect(await listed()).toEqual(before);
    await damage(4_096);
    expect(await port.search("words", everything)).toEqual(found);
  });

  test("hostile files are no transcripts: no JSON, deep JSON, links, wrong types, no session", async () => {
    const directory = dirname(pathOf("claude"));
    put(join(directory, "text.jsonl"), "no json\n\u0000\u0001\n");
    put(join(directory, "deep.jsonl"), `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}\n`);
    put(
      join(directory, "types.jsonl"),
      '{"uuid":1,"sessionId":{},"message":[],"timestamp":{},"cwd":7}\n{"message":{"role":"user","content":{"content":7}}}\n',
    );
    put(join(home, "secret.jsonl"), readFileSync(recorded("claude"), "utf8"));
    symlinkSync(join(home, "secret.jsonl"), join(directory, "link.jsonl"));
    mkdirSync(join(directory, "folder.jsonl"));
    expect(await listed()).toEqual([]);
  });

  test("a transcript that would overflow a stack, and a directory that is none, leave the others listed", async () => {
    putAll();
    const before = await listed();
    const directory = dirname(pathOf("claude"));
    const input = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const call = `{"uuid":"1","type":"assistant","message":{"role":"assistant","content":[{"name":"x","input":{"a":${input}}}]}}\n`;
    put(join(directory, "deep.jsonl"), call);
    put(join(directory, "short-lines.jsonl"), "{}\n".repeat(200_000));
    rmSync(join(home, ".pi"), { recursive: true });
    put(join(home, ".pi"), "a file");
    expect(await listed()).toEqual(before.filter(({ agent }) => agent !== "pi"));
  });

  test("a time that no calendar has leaves a session of opencode in the list", async () => {
    const path = putOpencode();
    const db = new Database(path);
    db.run("update message set data = json_set(data, '$.time.created', 1e300)");
    db.close();
    expect((await only("opencode")).task).toBe("Say one, two, three.");
  });

  test("a project lists only its own sessions, also those of Gemini CLI, which stores only a hash", async () => {
    putAll();
    const agents = (await listed({ project: "/home/user/project" })).map(({ agent }) => agent).toSorted();
    expect(agents).toEqual(expect.arrayContaining(["claude", "codex", "opencode", "pi"]));
    expect(await port.list({ ...everything, project: "/home/user" })).not.toHaveLength(0);
    expect(await port.list({ ...everything, project: "/home/use" })).toEqual([]);
  });
});
