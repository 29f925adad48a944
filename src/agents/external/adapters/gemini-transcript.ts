// Repairs Gemini CLI's transcript of a session before it is resumed. Version 0.61 writes each tool result twice, with the
// call and as a message, and sends both after a resume. Its vendor refuses more results than calls.
import type { Json } from "../../../kit/text/json.ts";
import { listAt, objectAt, parseJson, textAt } from "../../../models/wire/json.ts";

/** Returns the text unchanged if no result is duplicated. */
export function repairGeminiTranscript(text: string): string {
  const lines = text.split("\n").map((line) => ({ line, entry: parseJson(line) }));
  const isReset = ({ entry }: (typeof lines)[number]) => objectAt(entry ?? undefined, "$set")?.["messages"] !== undefined;
  const starts = [0, ...lines.flatMap((line, index) => (isReset(line) ? [index] : []))];
  return starts
    .flatMap((start, index) => repairSection(lines.slice(start, starts[index + 1])))
    .filter((line) => line !== null)
    .join("\n");
}

type Line = { line: string; entry: Json | null };

/** A section begins with a line that replaces all messages before it. Its other lines add messages. */
function repairSection(lines: Line[]): (string | null)[] {
  const listed = listAt(objectAt(lines[0]?.entry ?? undefined, "$set"), "messages");
  const answeredCalls = new Set([...listed, ...lines.flatMap(({ entry }) => (entry === null ? [] : [entry]))].flatMap(callsWithResult));
  const visited = new Set<string>();
  const isDuplicate = (message: Json): boolean => {
    const ids = resultsOf(message);
    const isKnown = ids.length > 0 && ids.every((id) => id !== "" && (answeredCalls.has(id) || visited.has(id)));
    for (const id of ids) visited.add(id);
    return isKnown;
  };
  const remaining = listed.filter((message) => !isDuplicate(message));
  return lines.map(({ line, entry }, index) => {
    if (entry === null) return line;
    if (index === 0 && listed.length > 0)
      return remaining.length === listed.length
        ? line
        : JSON.stringify({ ...entry, $set: { ...objectAt(entry, "$set"), messages: remaining } });
    return isDuplicate(entry) ? null : line;
  });
}

/** Ids of the calls in a message that include their result. */
function callsWithResult(message: Json): string[] {
  return listAt(message, "toolCalls").flatMap((call) => (call["result"] === undefined ? [] : [textAt(call, "id")]));
}

/** Ids of the results in a message that has only results; empty for any other message. */
function resultsOf(message: Json): string[] {
  const parts = message["type"] === "user" ? listAt(message, "content") : [];
  const results = parts.map((part) => objectAt(part, "functionResponse"));
  return results.every((result) => result !== undefined) ? results.map((result) => textAt(result, "id")) : [];
}
