// An answer that is too long for its reader: kept whole in a file beside the transcript, given shortened with its path.
import { existsSync, writeFileSync } from "node:fs";
import { byteLength, cutText } from "../../kit/text/cut-text.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";

const most = { tokens: 10_000, excerptBytes: 24_000 };
/** No text has more tokens than bytes, and none of this size has so few. */
const surelyLongBytes = 1_000_000;

export type BoundedAnswer = { text: string; file: string | null };

export async function boundAnswer(text: string, session: Session, turn: Pick<Turn, "id">): Promise<BoundedAnswer> {
  if (!(await isLong(text))) return { text, file: null };
  const file = session.transcript?.replace(/\.jsonl$/, `.${shortId(turn.id)}.answer.md`) ?? null;
  if (file !== null && !existsSync(file)) writeFileSync(file, text, { mode: 0o600 });
  const where = file === null ? `skein show ${session.id}` : file;
  const note = (bytes: number) => `[... ${bytes} bytes not shown; the whole answer: ${where} ...]`;
  return { text: cutText(text, most.excerptBytes, { keep: "both", headShare: 0.5, note }).text, file };
}

async function isLong(text: string): Promise<boolean> {
  const bytes = byteLength(text);
  if (bytes <= most.tokens) return false;
  if (bytes >= surelyLongBytes) return true;
  return (await import("../../kit/text/count-tokens.ts")).countTextTokens(text) > most.tokens;
}
