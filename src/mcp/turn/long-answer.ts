// Shortens an answer that is too long for its caller. The full text goes into a file next to the transcript.
import { existsSync, writeFileSync } from "node:fs";
import { byteLength, cutText } from "../../kit/text/cut-text.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";

const limits = { tokens: 10_000, excerptBytes: 24_000 };
/** A text this long has more than 10,000 tokens for sure, so it is not counted. */
const surelyLongBytes = 1_000_000;

export type BoundedAnswer = { text: string; file: string | null };

export async function boundAnswer(text: string, session: Session, turn: Pick<Turn, "id">): Promise<BoundedAnswer> {
  if (!(await isLong(text))) return { text, file: null };
  const file = session.transcript?.replace(/\.jsonl$/, `.${shortId(turn.id)}.answer.md`) ?? null;
  if (file !== null && !existsSync(file)) writeFileSync(file, text, { mode: 0o600 });
  const location = file === null ? `skein show ${session.id}` : file;
  const note = (bytes: number) => `[... ${bytes} bytes not shown; the full answer: ${location} ...]`;
  return { text: cutText(text, limits.excerptBytes, { keep: "both", headShare: 0.5, note }).text, file };
}

async function isLong(text: string): Promise<boolean> {
  const bytes = byteLength(text);
  // No text has more tokens than bytes.
  if (bytes <= limits.tokens) return false;
  if (bytes >= surelyLongBytes) return true;
  return (await import("../../kit/text/count-tokens.ts")).countTextTokens(text) > limits.tokens;
}
