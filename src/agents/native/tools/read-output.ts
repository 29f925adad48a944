// `read` of a path like `bash:<session>/<n>` or `mcp:<session>/<n>`: pages through the full output that a result on this path points at.
// Only handles of the path can be read, so that the model can't name outputs of other sessions.
import { cutText } from "../../../kit/text/cut-text.ts";
import { storedIdentifier, type Handle } from "../../../protocol/tree/handle.ts";
import type { CallPart, Node } from "../../../protocol/tree/node.ts";
import type { ToolOutcome, TurnContext } from "../../../protocol/api/ports.ts";

const pageBytes = 30 * 1024;
const defaultLines = 2000;

/** Null if the call does not read an output. */
export async function readOutputPath(call: CallPart, path: Node[], context: Pick<TurnContext, "readOutput">): Promise<ToolOutcome | null> {
  const outputPath = call.input["path"];
  if (call.name !== "read" || typeof outputPath !== "string" || !/^(?:bash|mcp):[0-9a-f-]{36}\/\d+$/.test(outputPath)) return null;
  const handle = path
    .flatMap((node) => node.parts)
    .map((part) => (part.kind === "result" || part.kind === "handle" ? part.handle : undefined))
    .find((candidate) => candidate !== undefined && outputPath.endsWith(`:${storedIdentifier(candidate)}`));
  if (handle === undefined) return { text: `${outputPath} is not an output of this conversation`, isError: true };
  const firstLine = Math.max(1, Number(call.input["offset"] ?? 1) || 1);
  const lineCount = Math.max(1, Number(call.input["limit"] ?? defaultLines) || defaultLines);
  return pageText(handle, await readPage(await context.readOutput(handle), firstLine), { firstLine, lineCount });
}

type Page = { text: string; lastLine: number; isComplete: boolean };

/** Returns whole lines. Only a line that is longer than a page is cut. */
function pageText(handle: Handle, page: Page, { firstLine, lineCount }: { firstLine: number; lineCount: number }): ToolOutcome {
  if (page.lastLine < firstLine || page.text === "") {
    const total = page.text === "" ? page.lastLine - 1 : page.lastLine;
    return { text: `the output ends before line ${firstLine}; it has ${total} lines`, isError: true };
  }
  const lines = page.text.replace(/\n$/, "").split("\n");
  const cut = cutText(lines.slice(0, lineCount).join("\n"), pageBytes, { keep: "head" });
  const continuation = (shownCount: number) =>
    `\n[lines ${firstLine}-${firstLine + shownCount - 1} of ${handle.metadata.bytes} bytes; continue with offset=${firstLine + shownCount}]`;
  if (cut.cutBytes === 0) {
    const isLast = page.isComplete && lines.length <= lineCount;
    return { text: isLast ? cut.text : cut.text + continuation(Math.min(lineCount, lines.length)), isError: false };
  }
  const end = cut.text.lastIndexOf("\n");
  if (end >= 0) return { text: cut.text.slice(0, end) + continuation(cut.text.slice(0, end).split("\n").length), isError: false };
  const skipNote = `[the rest of line ${firstLine} is too long to show; continue with offset=${firstLine + 1}]`;
  return { text: `${cut.text}\n${skipNote}`, isError: false };
}

/** Reads up to two pages from `firstLine` on. `lastLine` equals `firstLine`, or is less if the output has fewer lines. */
async function readPage(stream: ReadableStream<Uint8Array>, firstLine: number): Promise<Page> {
  const decoder = new TextDecoder();
  let line = 1;
  let text = "";
  for await (const chunk of stream) {
    const decoded = decoder.decode(chunk, { stream: true });
    let start = 0;
    while (line < firstLine && start < decoded.length) {
      const end = decoded.indexOf("\n", start);
      if (end < 0) start = decoded.length;
      else [start, line] = [end + 1, line + 1];
    }
    text += decoded.slice(start);
    if (text.length > 2 * pageBytes) return { text, lastLine: line, isComplete: false };
  }
  if (line === firstLine) text += decoder.decode();
  return { text, lastLine: line, isComplete: true };
}
