// Checks files against the store: whole outputs by size and hash, transcripts line by line.
import { existsSync } from "node:fs";
import { messageOf } from "../../../protocol/api/error.ts";
import { isHeld } from "../lease.ts";
import { readOutputFile } from "../outputs/output-files.ts";
import { joinedNodeColumns, type NodeRow, toNodes } from "../rows/node-row.ts";
import { lineKey, readLineKeys } from "../../transcript.ts";
import { toTranscriptLines } from "../../../protocol/json/transcript-lines.ts";
import type { VerifyContext } from "./verify.ts";

type HandleRow = { identifier: string; kept_bytes: number; sha256: string };

/** Skips outputs that were never closed: their call still runs or was killed, so there is no hash to compare. */
export async function verifyHandles({ db, files, report, problem, advance }: VerifyContext): Promise<void> {
  const handles = db
    .query<HandleRow>(
      `select s.id || '/' || h.n as identifier, h.kept_bytes, h.sha256 from handles h join sessions s on s.n = h.session
       where h.closed_at is not null order by h.session, h.n`,
    )
    .all();
  for (const handle of handles) {
    report.handles += 1;
    const fault = await outputFault(() => readOutputFile(files, handle.identifier), handle);
    if (fault) problem("handle", handle.identifier, `The output ${handle.identifier} ${fault}.`);
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

type TranscriptRow = { n: number; id: string; seq: number; transcript: string };

/** A session has no file before its first turn. */
export async function verifyTranscripts(ctx: VerifyContext): Promise<void> {
  const { db, report, problem, advance } = ctx;
  const sessions = db.query<TranscriptRow>("select n, id, seq, transcript from sessions where transcript is not null order by n").all();
  for (const session of sessions) {
    report.transcripts += 1;
    try {
      if (existsSync(session.transcript)) await verifyTranscript(ctx, session);
      else if (session.seq > 0)
        problem("transcript", session.transcript, `The transcript ${session.transcript} of session ${session.id} is missing.`);
    } catch (error) {
      problem("transcript", session.transcript, `The transcript ${session.transcript} can't be compared: ${messageOf(error)}`);
    }
    await advance(1);
  }
}

const batchSize = 500;

async function verifyTranscript(ctx: VerifyContext, session: TranscriptRow): Promise<void> {
  const { db, problem } = ctx;
  const { keys, broken, torn } = await readLineKeys(session.transcript);
  if (broken > 0) problem("transcript", session.transcript, `The transcript ${session.transcript} has ${broken} lines that are not JSON.`);
  const page = db.query(
    `select ${joinedNodeColumns}, e.seq from events e join nodes c on c.n = e.node
     where e.session = ? and e.seq > ? and e.seq <= ? order by e.seq limit ?`,
  );
  const missing: { id: string; isLast: boolean; parts: number }[] = [];
  for (let after = 0; ;) {
    const rows = page.values(session.n, after, session.seq, batchSize) as [...NodeRow, seq: number][];
    if (rows.length === 0) break;
    for (const item of missing) item.isLast = false;
    after = rows.at(-1)![7];
    for (const [index, node] of toNodes(
      db,
      rows.map((row) => row.slice(0, 7) as NodeRow),
    ).entries()) {
      const parts = toTranscriptLines(node).filter((line) => !keys.has(lineKey(line))).length;
      if (parts > 0) missing.push({ id: node.id, isLast: index === rows.length - 1, parts });
    }
    await ctx.advance(0);
  }
  for (const { id, isLast, parts } of missing) {
    if (isLast && (torn || mayLag(ctx, session.n))) continue;
    problem("transcript", session.transcript, `The transcript ${session.transcript} lacks ${parts} parts of node ${id}.`);
  }
}

/** Whether a process may still be writing the session's last node to the transcript. */
function mayLag({ db, self }: VerifyContext, session: number): boolean {
  const open = db.query("select 1 from turns where session = ? and ended_at is null").get(session);
  return open !== null || isHeld(db, session, self);
}
