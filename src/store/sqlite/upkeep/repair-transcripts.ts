// Repairs transcripts from the store. Missing lines are inserted in their place, and lines that are not in the store stay.
// A file with damaged lines is copied beside the repaired one.
import { constants, copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { acquire, release } from "../lease.ts";
import { sessionNodes } from "../tables/nodes.ts";
import type { RepairContext } from "./repair.ts";
import { type SessionRow, selectSessions, toSession } from "../rows/session-row.ts";
import { isHeader, lineKey, parseLineId, Transcript } from "../../transcript.ts";
import { toTranscriptHeader, toTranscriptLines, providerOf, type TranscriptLine } from "../../../protocol/json/transcript-lines.ts";

export async function repairTranscripts({ db, self, onRepaired }: RepairContext): Promise<void> {
  const sessions = db.query<SessionRow>(`${selectSessions} where s.transcript is not null and s.seq > 0 order by s.n`).all().map(toSession);
  for (const session of sessions) {
    await yieldToEventLoop();
    const lease = tryAcquire(() => acquire(db, session.id, self));
    if (lease === null) continue;
    try {
      const change = repairTranscript(session, sessionNodes(db, session.id).flatMap(toTranscriptLines));
      if (change !== null) onRepaired("transcript", session.transcript!, `The transcript ${session.transcript} ${change}.`);
    } catch (error) {
      // The file can't be written. The check after the repair lists the lines that are still missing.
      if (!(error instanceof Error) || !("code" in error)) throw error;
    } finally {
      release(db, lease);
    }
  }
}

/** Null if another process writes the session: that process adds the missing lines itself. */
function tryAcquire<T>(acquire: () => T): T | null {
  try {
    return acquire();
  } catch (error) {
    if (error instanceof Fault && (error.code === "session-busy" || error.code === "session-unknown")) return null;
    throw error;
  }
}

/** Describes the change; null if the transcript is complete. */
function repairTranscript(session: Session, lines: TranscriptLine[]): string | null {
  const path = session.transcript!;
  if (!existsSync(path)) return writeAgain(session, lines);
  const rows = readFileSync(path, "utf8").split("\n");
  const torn = rows.pop() !== "";
  const header = rows.find(isHeader);
  const broken = rows.filter((row) => !isHeader(row) && parseLineId(row) === null).length;
  const present = new Set(rows.flatMap((row) => parseLineId(row) ?? []).map(lineKey));
  const missing = lines.filter((line) => !present.has(lineKey(line))).length;
  if (missing === 0 && broken === 0 && !torn && header !== undefined) return null;
  if (broken > 0) copyFileSync(path, freeName(`${path}.damaged`), constants.COPYFILE_EXCL);
  const first = header ?? JSON.stringify(toTranscriptHeader(session, providerOf(session)));
  const repairedPath = `${path}.repairing`;
  rmSync(repairedPath, { force: true });
  writeFileSync(repairedPath, [first, ...mergeLines(rows, lines), ""].join("\n"), { mode: 0o600, flag: "wx", flush: true });
  renameSync(repairedPath, path);
  return `got ${missing} missing lines back${broken > 0 ? `; ${broken} damaged lines are in a copy beside it` : ""}`;
}

/** Null if the project directory no longer exists: it is not created again for its transcripts. */
function writeAgain(session: Session, lines: TranscriptLine[]): string | null {
  const path = session.transcript!;
  if (!existsSync(dirname(dirname(dirname(path))))) return null;
  const transcript = Transcript.create(path, session, { provider: providerOf(session) });
  transcript.appendLines(lines);
  transcript.close();
  return `was written again, ${lines.length} lines`;
}

/** The lines of the store in their order. A line that only the file has follows the line that it followed there. */
function mergeLines(rows: string[], lines: TranscriptLine[]): string[] {
  const stored = new Set(lines.map(lineKey));
  const foreign = new Map<string, string[]>();
  const existing = new Map<string, string>();
  let previous = "";
  for (const row of rows) {
    const line = parseLineId(row);
    if (line === null) continue;
    const key = lineKey(line);
    if (stored.has(key)) {
      previous = key;
      if (!existing.has(key)) existing.set(key, row);
    } else foreign.set(previous, [...(foreign.get(previous) ?? []), row]);
  }
  return [
    ...(foreign.get("") ?? []),
    ...lines.flatMap((line) => [existing.get(lineKey(line)) ?? JSON.stringify(line), ...(foreign.get(lineKey(line)) ?? [])]),
  ];
}

function freeName(path: string): string {
  let name = path;
  for (let count = 2; existsSync(name); count += 1) name = `${path}-${count}`;
  return name;
}
