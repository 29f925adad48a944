// Gemini CLI's own record of a session, mended before it is resumed: 0.61 writes each tool's result twice, once with the
// call and once as a message, and sends both when it goes on. Its vendor refuses more results than calls.
import { type Json, listAt, objectAt, parseJson, textAt } from "../../../models/wire/json.ts";

/** The text as it came where nothing is twice. */
export function repairGeminiTranscript(text: string): string {
  const lines = text.split("\n").map((line) => ({ line, entry: parseJson(line) }));
  const isReset = ({ entry }: (typeof lines)[number]) => objectAt(entry ?? undefined, "$set")?.["messages"] !== undefined;
  const starts = [0, ...lines.flatMap((each, at) => (isReset(each) ? [at] : []))];
  return starts
    .flatMap((from, at) => mendPart(lines.slice(from, starts[at + 1])))
    .filter((line) => line !== null)
    .join("\n");
}

type Line = { line: string; entry: Json | null };

/** A list of messages takes the place of all before it; the lines that follow are added to it. */
function mendPart(lines: Line[]): (string | null)[] {
  const listed = listAt(objectAt(lines[0]?.entry ?? undefined, "$set"), "messages");
  const withCalls = new Set([...listed, ...lines.flatMap(({ entry }) => (entry === null ? [] : [entry]))].flatMap(answeredWith));
  const seen = new Set<string>();
  const isTwice = (message: Json): boolean => {
    const ids = resultsOf(message);
    const known = ids.length > 0 && ids.every((id) => id !== "" && (withCalls.has(id) || seen.has(id)));
    for (const id of ids) seen.add(id);
    return known;
  };
  const kept = listed.filter((message) => !isTwice(message));
  return lines.map(({ line, entry }, at) => {
    if (entry === null) return line;
    if (at === 0 && listed.length > 0)
      return kept.length === listed.length ? line : JSON.stringify({ ...entry, $set: { ...objectAt(entry, "$set"), messages: kept } });
    return isTwice(entry) ? null : line;
  });
}

/** The calls of a message that hold their result. */
function answeredWith(message: Json): string[] {
  return listAt(message, "toolCalls").flatMap((call) => (call["result"] === undefined ? [] : [textAt(call, "id")]));
}

/** Of a message that is nothing but results, whose they are. */
function resultsOf(message: Json): string[] {
  const parts = message["type"] === "user" ? listAt(message, "content") : [];
  const results = parts.map((part) => objectAt(part, "functionResponse"));
  return results.every((result) => result !== undefined) ? results.map((result) => textAt(result, "id")) : [];
}
