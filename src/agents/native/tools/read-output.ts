// `read` of a path like `bash:<session>/<n>`: a whole output that a result on this path points at.
// Only handles of the path can be read; the model can't name its way into other sessions.
import { cutText } from "../../../kit/text/cut-text.ts";
import { storedIdentifier, type Handle } from "../../../protocol/tree/handle.ts";
import type { CallPart, Node } from "../../../protocol/tree/node.ts";
import type { ToolOutcome, TurnContext } from "../../../protocol/api/ports.ts";

const pageBytes = 30 * 1024;
const defaultLines = 2000;

export function readOutputPath(call: CallPart, path: Node[]): { read: (context: TurnContext) => Promise<ToolOutcome> } | null {
  const wanted = call.input["path"];
  if (call.name !== "read" || typeof wanted !== "string" || !/^bash:[0-9a-f-]{36}\/\d+$/.test(wanted)) return null;
  const handle = path
    .flatMap((node) => node.parts)
    .map((part) => (part.kind === "result" || part.kind === "handle" ? part.handle : undefined))
    .find((candidate) => candidate !== undefined && `bash:${storedIdentifier(candidate)}` === wanted);
  if (handle === undefined) {
    return { read: async () => ({ text: `${wanted} is no output of this conversation`, isError: true }) };
  }
  const first = Math.max(1, Number(call.input["offset"] ?? 1) || 1);
  const lines = Math.max(1, Number(call.input["limit"] ?? defaultLines) || defaultLines);
  return { read: (context) => readPage(handle, first, lines, context) };
}

/** Streams past what comes before; holds one page. Pages end with a line; only one longer than a page is cut. */
async function readPage(handle: Handle, first: number, count: number, context: TurnContext): Promise<ToolOutcome> {
  const { page, line, isWhole } = await collect(await context.readOutput(handle), first);
  if (line < first || page === "")
    return { text: `the output ends before line ${first}; it has ${page === "" ? line - 1 : line} lines`, isError: true };
  const lines = page.replace(/\n$/, "").split("\n");
  const wanted = lines.slice(0, count).join("\n");
  const cut = cutText(wanted, pageBytes, { keep: "head" });
  if (cut.cutBytes === 0) {
    const isLast = isWhole && lines.length <= count;
    return { text: isLast ? cut.text : cut.text + goOn(handle, first, Math.min(count, lines.length)), isError: false };
  }
  const end = cut.text.lastIndexOf("\n");
  if (end >= 0) return { text: cut.text.slice(0, end) + goOn(handle, first, cut.text.slice(0, end).split("\n").length), isError: false };
  return { text: `${cut.text}\n[the rest of line ${first} is too long to show; go on with offset=${first + 1}]`, isError: false };
}

function goOn(handle: Handle, first: number, shown: number): string {
  return `\n[lines ${first}-${first + shown - 1} of ${handle.metadata.bytes} bytes; go on with offset=${first + shown}]`;
}

/** The text from a line on, as much as a page could need, and how far the output was read. */
async function collect(stream: ReadableStream<Uint8Array>, first: number): Promise<{ page: string; line: number; isWhole: boolean }> {
  const decoder = new TextDecoder();
  let line = 1;
  let page = "";
  for await (const chunk of stream) {
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    while (line < first && start < text.length) {
      const end = text.indexOf("\n", start);
      if (end < 0) start = text.length;
      else [start, line] = [end + 1, line + 1];
    }
    page += text.slice(start);
    if (page.length > 2 * pageBytes) return { page, line, isWhole: false };
  }
  if (line === first) page += decoder.decode();
  return { page, line, isWhole: true };
}
