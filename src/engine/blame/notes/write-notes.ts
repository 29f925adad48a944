// The method `files.writeNotes`: writes the turns that wrote a file's lines at HEAD into the notes of the commits that added
// these lines, in git-ai's format. Other tools then read the writers from the repository.
import { Fault } from "../../../protocol/api/error.ts";
import type { MethodParams } from "../../../protocol/api/api.ts";
import type { WrittenNotes } from "../../../protocol/schema/views/blame-views.ts";
import type { CommittedFile, CommittedLine } from "../../../protocol/tree/history.ts";
import type { Turn } from "../../../protocol/tree/turn.ts";
import type { Store } from "../../../store/store.ts";
import type { EngineDeps } from "../../engine.ts";
import { blameCommitted } from "../blame-file.ts";
import { emptyLog, logText, parseLog, sessionKey, turnKey, type AgentSession, type AuthorshipLog } from "./authorship-log.ts";

export async function writeNotes(deps: EngineDeps, { path, directory }: MethodParams<"files.writeNotes">): Promise<WrittenNotes> {
  const { project, name, committed, turns: lineTurns } = await blameCommitted(deps, { path, directory });
  const store = await deps.store();
  const writers = await writersOf(store, new Set(lineTurns.filter((turn) => turn !== null)));
  const byCommit = groupLines(committed, lineTurns, writers);
  const known = await deps.commitNotes.read(project, [...byCommit.keys()]);
  const notes = new Map<string, Buffer>();
  for (const [commit, lines] of byCommit) {
    const before = known.get(commit) ?? null;
    const log = before === null ? emptyLog(commit, `skein/${deps.version}`) : readLog(before, commit);
    for (const line of lines) addLine(log, line);
    const text = Buffer.from(logText(log));
    if (before === null || !text.equals(before)) notes.set(commit, text);
  }
  if (notes.size > 0) await deps.commitNotes.write(project, notes);
  const commits = [...byCommit].map(([commit, lines]) => ({
    commit,
    lines: lines.length,
    turns: [...new Set(lines.map(({ writer }) => writer.turn))],
    isChanged: notes.has(commit),
  }));
  return { project, path: name, commits, otherLines: lineTurns.filter((turn) => turn === null).length };
}

type Writer = { turn: string; key: string; session: string; record: AgentSession };

async function writersOf(store: Store, ids: ReadonlySet<string>): Promise<Map<string, Writer>> {
  const turns = await Promise.all([...ids].map((id) => store.turn(id)));
  return new Map(turns.flatMap((turn) => (turn === null ? [] : [[turn.id, writerOf(turn)] as const])));
}

function writerOf({ id, session, agent, model, nativeId }: Turn): Writer {
  // Other tools do not know the word native. A CLI's own id joins the note with the records of that CLI.
  const tool = agent === "native" ? "skein" : agent;
  const conversation = nativeId ?? session;
  const key = sessionKey(tool, conversation);
  const record = { agent_id: { tool, id: conversation, model: model ?? "unknown" }, custom_attributes: { skein_session: session } };
  return { turn: id, key: turnKey(key, id), session: key, record };
}

type CreditedLine = CommittedLine & { writer: Writer };

function groupLines(
  { lines }: CommittedFile,
  turns: readonly (string | null)[],
  writers: ReadonlyMap<string, Writer>,
): Map<string, CreditedLine[]> {
  const credited = lines.flatMap((line, index) => {
    const writer = writers.get(turns[index] ?? "");
    return writer === undefined ? [] : [{ ...line, writer }];
  });
  return Map.groupBy(credited, ({ commit }) => commit);
}

function readLog(note: Buffer, commit: string): AuthorshipLog {
  const log = parseLog(note.toString("utf8"));
  if (log !== null) return log;
  throw new Fault("usage", `the note of commit ${commit.slice(0, 12)} in refs/notes/ai is no authorship log that skein can extend`, {
    hint: `see it: git notes --ref=ai show ${commit.slice(0, 12)}; git notes --ref=ai remove ${commit.slice(0, 12)} removes it`,
  });
}

/** A line that a note gives to another writer gets the recorded one. Other lines keep theirs. */
function addLine({ files, metadata }: AuthorshipLog, { path, line, writer }: CreditedLine): void {
  // git quotes such a path, and the format has no way to write it.
  if (path.startsWith('"')) throw new Fault("usage", `a note can't name the path ${path}`, { hint: "rename the file" });
  const name = Buffer.from(path, "latin1").toString("utf8");
  const lines = files.get(name) ?? new Map<number, string>();
  files.set(name, lines.set(line, writer.key));
  const sessions = (metadata["sessions"] ??= {}) as Record<string, unknown>;
  sessions[writer.session] ??= writer.record;
}
