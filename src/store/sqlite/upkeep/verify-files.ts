// Checks files against the store: whole outputs by size and hash, transcripts line by line.
import { existsSync } from "node:fs";
import { messageOf } from "../../../protocol/api/error.ts";
import { isHeld } from "../lease.ts";
import { readOutputFile } from "../outputs/output-files.ts";
import { type SessionRow, selectSessions } from "../rows/session-row.ts";
import { lineKey, readLineKeys } from "../../transcript.ts";
import { toTranscriptLines } from "../../../protocol/json/transcript-lines.ts";
import { sessionNodes } from "../tables/nodes.ts";
import type { UpkeepContext } from "./verify.ts";

type HandleRow = { identifier: string; kept_bytes: number; sha256: string };

/** Skips outputs that were never closed: their call still runs or was killed, so there is no hash to compare. */
export async function verifyHandles({ db, files, report, problem, advance }: UpkeepContext): Promise<void> {
  const handles = db.rows<HandleRow>`
    select s.id || '/' || h.n as identifier, h.kept_bytes, h.sha256 from handles h join sessions s on s.n = h.session
    where h.closed_at is not null order by h.session, h.n`;
  for (const handle of handles) {
    report.handles += 1;
    const fault = await outputFault(() => readOutputFile(files, handle.identifier), handle);
    if (fault) problem("handle", handle.identifier, `the output ${handle.identifier} ${fault}`);
    await advance(1);
  }
}

async function outputFault(open: () => ReadableStream<Uint8Array>, handle: HandleRow): Promise<string | null> {
  const hash = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  try {
    for await (const chunk of open()) {
      hash.update(chunk);
      bytes += chunk.length;
    }
  } catch (error) {
    return `can't be read: ${messageOf(error)}`;
  }
  if (bytes !== handle.kept_bytes) return `has ${bytes} bytes instead of ${handle.kept_bytes}`;
  return hash.digest("hex") === handle.sha256 ? null : "was changed: its hash differs";
}

/** A session has no file before its first turn. */
export async function verifyTranscripts(ctx: UpkeepContext): Promise<void> {
  const { db, report, problem, advance } = ctx;
  for (const session of db.rows<SessionRow>`${selectSessions} where s.transcript is not null order by s.n`) {
    const path = session.transcript!;
    report.transcripts += 1;
    try {
      if (existsSync(path)) await verifyTranscript(ctx, session, path);
      else if (session.seq > 0) problem("transcript", path, `the transcript ${path} of session ${session.id} is missing`);
    } catch (error) {
      problem("transcript", path, `the transcript ${path} can't be compared: ${messageOf(error)}`);
    }
    await advance(1);
  }
}

/** Reads the nodes before the file, so that the file has every line unless it was lost. */
async function verifyTranscript({ db, self, problem }: UpkeepContext, session: SessionRow, path: string): Promise<void> {
  const nodes = sessionNodes(db, session.id);
  const { keys, broken, isTorn } = await readLineKeys(path);
  if (broken > 0) problem("transcript", path, `the transcript ${path} has ${broken} lines that are not JSON`);
  // A process may still be writing the last node to the transcript.
  const hasOpenTurn = db.row`select 1 from turns where session = ${session.n} and ended_at is null` !== null;
  if (isTorn || hasOpenTurn || isHeld(db, session.n, self)) nodes.pop();
  for (const node of nodes) {
    const missing = toTranscriptLines(node).filter((line) => !keys.has(lineKey(line))).length;
    if (missing > 0) problem("transcript", path, `the transcript ${path} lacks ${missing} parts of node ${node.id}`);
  }
}
