// Transcripts made whole again from the store: gaps are filled where they are, lines that the store does not know stay
// in their place, and a file with damaged lines is kept beside the mended one.
import { constants, copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Fault } from "../../../protocol/api/error.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { acquire, release } from "../lease.ts";
import { sessionNodes } from "../tables/nodes.ts";
import type { RepairContext } from "./repair.ts";
import { type SessionRow, selectSessions, toSession } from "../rows/session-row.ts";
import { isHeader, lineKey, parseLineId, Transcript } from "../../transcript.ts";
import { toTranscriptHeader, toTranscriptLines, providerOf, type TranscriptLine } from "../../../protocol/json/transcript-lines.ts";

export async function repairTranscripts({ db, self, mended, pause }: RepairContext): Promise<void> {
  const sessions = db.query<SessionRow>(`${selectSessions} where s.transcript is not null and s.seq > 0 order by s.n`).all().map(toSession);
  for (const session of sessions) {
    await pause();
    const lease = tryAcquire(() => acquire(db, session.id, self));
    if (lease === null) continue;
    try {
      const told = repairTranscript(session, sessionNodes(db, session.id).flatMap(toTranscriptLines));
      if (told !== null) mended("transcript", session.transcript!, `The transcript ${session.transcript} ${told}.`);
    } catch (error) {
      // A place that can't be written: the check after this one tells what is still missing.
      if (!(error instanceof Error) || !("code" in error)) throw error;
    } finally {
      release(db, lease);
    }
  }
}

/** Null when somebody writes the session: then it is theirs to mend. */
function tryAcquire<T>(take: () => T): T | null {
  try {
    return take();
  } catch (error) {
    if (error instanceof Fault && (error.code === "session-busy" || error.code === "session-unknown")) return null;
    throw error;
  }
}

/** Says what was done, or null. */
function repairTranscript(session: Session, lines: TranscriptLine[]): string | null {
  const path = session.transcript!;
  if (!existsSync(path)) return rewrite(session, lines);
  const rows = readFileSync(path, "utf8").split("\n");
  const torn = rows.pop() !== "";
  const header = rows.find(isHeader);
  const broken = rows.filter((row) => !isHeader(row) && parseLineId(row) === null).length;
  const present = new Set(rows.flatMap((row) => parseLineId(row) ?? []).map(lineKey));
  const missing = lines.filter((line) => !present.has(lineKey(line))).length;
  if (missing === 0 && broken === 0 && !torn && header !== undefined) return null;
  if (broken > 0) copyFileSync(path, freeName(`${path}.damaged`), constants.COPYFILE_EXCL);
  const first = header ?? JSON.stringify(toTranscriptHeader(session, providerOf(session)));
  const mendedPath = `${path}.mending`;
  rmSync(mendedPath, { force: true });
  writeFileSync(mendedPath, [first, ...merged(rows, lines), ""].join("\n"), { mode: 0o600, flag: "wx", flush: true });
  renameSync(mendedPath, path);
  return `got ${missing} missing lines back${broken > 0 ? `; ${broken} damaged lines are kept beside it` : ""}`;
}

/** A project that is gone is not made again for its transcripts. */
function rewrite(session: Session, lines: TranscriptLine[]): string | null {
  const path = session.transcript!;
  if (!existsSync(dirname(dirname(dirname(path))))) return null;
  const transcript = Transcript.create(path, session, { provider: providerOf(session) });
  transcript.appendLines(lines);
  transcript.close();
  return `was written again, ${lines.length} lines`;
}

/** The store's lines in its order; what only the file knows follows the line that it followed there. */
function merged(rows: string[], lines: TranscriptLine[]): string[] {
  const stored = new Set(lines.map(lineKey));
  const strangers = new Map<string, string[]>();
  const kept = new Map<string, string>();
  let before = "";
  for (const row of rows) {
    const place = parseLineId(row);
    if (place === null) continue;
    const key = lineKey(place);
    if (stored.has(key)) {
      before = key;
      if (!kept.has(key)) kept.set(key, row);
    } else strangers.set(before, [...(strangers.get(before) ?? []), row]);
  }
  return [
    ...(strangers.get("") ?? []),
    ...lines.flatMap((line) => [kept.get(lineKey(line)) ?? JSON.stringify(line), ...(strangers.get(lineKey(line)) ?? [])]),
  ];
}

function freeName(wanted: string): string {
  let name = wanted;
  for (let count = 2; existsSync(name); count += 1) name = `${wanted}-${count}`;
  return name;
}
