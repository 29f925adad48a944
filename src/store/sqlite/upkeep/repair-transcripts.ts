// Repairs transcripts from the store. Missing lines are inserted in their place, and lines that are not in the store stay.
// A file with damaged lines is copied beside the repaired one.
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createSafely, readSafely, replaceSafely, UnsafePathError, writeAll } from "../../../kit/files/safe-file.ts";
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { acquire, release } from "../lease.ts";
import { sessionNodes } from "../tables/nodes.ts";
import { type SessionRow, selectSessions, toSession } from "../rows/session-row.ts";
import { headerLine, lineKey, parseLine, Transcript } from "../../transcript.ts";
import { toTranscriptLines, type TranscriptLine } from "../../../protocol/json/transcript-lines.ts";
import type { UpkeepContext } from "./verify.ts";

export async function repairTranscripts({ db, self, repaired }: UpkeepContext): Promise<void> {
  const rows = db.rows<SessionRow>`${selectSessions} where s.transcript is not null and s.seq > 0 order by s.n`;
  for (const session of rows.map(toSession)) {
    await yieldToEventLoop();
    const lease = await tryAcquire(() => acquire(db, session.id, self, { mayBeArchived: true }));
    if (lease === null) continue;
    try {
      const change = await repairTranscript(session, sessionNodes(db, session.id).flatMap(toTranscriptLines));
      if (change !== null) repaired("transcript", session.transcript!, `the transcript ${session.transcript} ${change}`);
    } catch (error) {
      // The file can't be written. The check after the repair lists the lines that are still missing.
      if (!(error instanceof UnsafePathError) && !(error instanceof Error && "code" in error)) throw error;
    } finally {
      await release(db, lease);
    }
  }
}

/** Null if another process writes the session: that process adds the missing lines itself. */
async function tryAcquire<T>(acquire: () => Promise<T>): Promise<T | null> {
  try {
    return await acquire();
  } catch (error) {
    if (error instanceof Fault && (error.code === "session-busy" || error.code === "session-unknown")) return null;
    throw error;
  }
}

/** Describes the change; null if the transcript is complete. */
async function repairTranscript(session: Session, lines: TranscriptLine[]): Promise<string | null> {
  const path = session.transcript!;
  const bytes = readSafely(path, { maxBytes: Infinity });
  if (bytes === null) return writeAgain(session, lines);
  const texts = bytes.toString("utf8").split("\n");
  const isTorn = texts.pop() !== "";
  const rows = texts.map((text) => ({ text, line: parseLine(text) }));
  const header = rows.find(({ line }) => line === "header");
  const broken = rows.filter(({ line }) => line === null).length;
  const existing = rows.flatMap(({ text, line }) => (line === null || line === "header" ? [] : [{ text, key: lineKey(line) }]));
  const keys = new Set(existing.map(({ key }) => key));
  const missing = lines.filter((line) => !keys.has(lineKey(line))).length;
  if (missing === 0 && broken === 0 && !isTorn && header !== undefined) return null;
  if (broken > 0) keepDamaged(path, bytes);
  const content = [header?.text ?? headerLine(session), ...mergeLines(existing, lines), ""].join("\n");
  await replaceSafely(path, (file) => writeAll(file, content));
  return `was completed with ${missing} missing lines${broken > 0 ? `; ${broken} damaged lines are in a copy beside it` : ""}`;
}

/** Null if the project directory no longer exists: it is not created again for its transcripts. */
function writeAgain(session: Session, lines: TranscriptLine[]): string | null {
  const path = session.transcript!;
  if (!existsSync(dirname(dirname(dirname(path))))) return null;
  const transcript = Transcript.open(path, session);
  transcript.appendLines(lines);
  transcript.close();
  return `was written again, ${lines.length} lines`;
}

/** The lines of the store in their order. A line that only the file has follows the line that it followed there. */
function mergeLines(existing: { text: string; key: string }[], lines: TranscriptLine[]): string[] {
  const merged = new Map(lines.map((line) => [lineKey(line), [JSON.stringify(line)]]));
  const first: string[] = [];
  const replacedKeys = new Set<string>();
  let previous = first;
  for (const { text, key } of existing) {
    const stored = merged.get(key);
    if (stored === undefined) previous.push(text);
    else {
      previous = stored;
      if (!replacedKeys.has(key)) stored[0] = text;
      replacedKeys.add(key);
    }
  }
  return [...first, ...[...merged.values()].flat()];
}

function keepDamaged(path: string, bytes: Uint8Array): void {
  for (let count = 1; !createSafely(`${path}.damaged${count === 1 ? "" : `-${count}`}`, bytes); count += 1);
}
