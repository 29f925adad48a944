// A model server that streams many small pieces on Anthropic's wire, in its own process: `bun bench/tui-model.ts` prints
// its address and exits when stdin ends. Requests without `streamPrompt` get one word.
import { startModelServer } from "../src/scripted-model/model-server.ts";

export const streamPrompt = "stream now";
/** The last piece: letters that are nowhere else, because a screen writes only changed cells. */
export const streamEnd = "ΩΨΞ";
export const pieces = 5000;
export const piecesPerSecond = 500;

const words =
  "a the stream of small pieces that comes from model is written as it arrives and rows are laid out only where someone looks".split(" ");

async function answer(request: Request): Promise<Response> {
  const body = (await request.clone().json()) as { messages: { role: string; content: unknown }[] };
  // A request for a title has no tools and is not measured.
  const isStream = "tools" in body && JSON.stringify(body.messages.at(-1)?.content).includes(streamPrompt);
  const texts = isStream ? [...Array.from({ length: pieces - 1 }, (_, index) => pieceAt(index)), streamEnd] : ["done"];
  return new Response(events(texts), { headers: { "content-type": "text/event-stream" } });
}

/** Prose, list items and code fences, as models write. */
export function pieceAt(index: number): string {
  const position = index % 120;
  if (position === 60) return "\n\n- an **item** ";
  if (position === 80) return "\n\n```ts\nconst ";
  if (position === 95) return ";\n```\n\n";
  if (position === 119) return "\n\n";
  return position > 80 && position < 95 ? `x${index} + ` : `${words[(index * 7) % words.length]} `;
}

async function* events(texts: string[]): AsyncGenerator<string> {
  const usage = { input_tokens: 10, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5", content: [], stop_reason: null, usage };
  yield event({ type: "message_start", message });
  yield event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  const startedAt = performance.now();
  for (const [index, text] of texts.entries()) {
    yield event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
    const waitMs = startedAt + ((index + 1) * 1000) / piecesPerSecond - performance.now();
    if (waitMs > 1) await Bun.sleep(waitMs);
  }
  yield event({ type: "content_block_stop", index: 0 });
  yield event({ type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage });
  yield event({ type: "message_stop" });
}

function event(data: { type: string; [key: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

if (import.meta.main) {
  const server = startModelServer(
    { steps: [], final: "done" },
    { route: (request, path) => (path.endsWith("/messages") ? answer(request) : null) },
  );
  console.log(server.url);
  for await (const _ of Bun.stdin.stream());
  await server.stop();
}
