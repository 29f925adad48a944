// `read` of a path like `bash:<session>/<n>`: a whole output that a result on this path points at.
// Only handles of the path can be read; the model can't name its way into other sessions.
import { cutText } from "../../kit/text.ts";
import type { Handle } from "../../protocol/handle.ts";
import type { CallPart, Node } from "../../protocol/node.ts";
import type { ToolOutcome, TurnContext } from "../../protocol/ports.ts";

const pageBytes = 30 * 1024;
const defaultLines = 2000;

export function readOutputPath(call: CallPart, path: Node[]): { read: (context: TurnContext) => Promise<ToolOutcome> } | null {
  const wanted = call.input["path"];
  if (call.name !== "read" || typeof wanted !== "string" || !/^bash:[0-9a-f-]{36}\/\d+$/.test(wanted)) return null;
  const handle = path
    .flatMap((node) => node.parts)
    .map((part) => (part.kind === "result" || part.kind === "handle" ? part.handle : undefined))
    .find((candidate) => candidate !== undefined && `${candidate.source}:${candidate.identifier}` === wanted);
  if (handle === undefined) {
    return { read: async () => ({ text: `${wanted} is no output of this conversation`, isError: true }) };
  }
  const first = Math.max(1, Number(call.input["offset"] ?? 1) || 1);
  const lines = Math.max(1, Number(call.input["limit"] ?? defaultLines) || defaultLines);
  return { read: (context) => readPage(handle, first, lines, context) };
}

/** Streams past what comes before; holds one page. A single line longer than a page is shown cut. */
async function readPage(handle: Handle, first: number, count: number, context: TurnContext): Promise<ToolOutcome> {
  const decoder = new TextDecoder();
  let line = 1;
  let page = "";
  let more = false;
  for await (const chunk of await context.readOutput(handle)) {
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    while (line < first && start < text.length) {
      const end = text.indexOf("\n", start);
      if (end < 0) start = text.length;
      else [start, line] = [end + 1, line + 1];
    }
    page += text.slice(start);
    if (page.length > 2 * pageBytes) {
      more = true;
      break;
    }
  }
  const lines = page.split("\n");
  const cut = cutText(lines.slice(0, count).join("\n"), pageBytes, { keep: "head" });
  const shown = cut.text.split("\n").length;
  const rest = more || cut.cutBytes > 0 || lines.length > count;
  const note = rest ? `\n[lines ${first}-${first + shown - 1} of ${handle.metadata.bytes} bytes; go on with offset=${first + shown}]` : "";
  return { text: cut.text + note, isError: false };
}
