// A model server for a run with many events: `steps` steps, each with text and `calls` calls, over Chat Completions. A test can
// hold it, so that others can join meanwhile. Only test/soak and test/real use `isHeldAt`, whose dots come every 300 ms.
import { startModelServer, type ModelServer } from "../../src/scripted-model/model-server.ts";
import { field, listOf, type JsonValue } from "../../src/scripted-model/json.ts";

export type LongRun = {
  steps: number;
  calls: number;
  /** Pieces of text before the calls, and the time between two of them. */
  words?: number;
  pauseMs?: number;
  beforeStep?: (step: number) => Promise<void> | void;
  /** Called before each piece. As long as it returns true, the model sends only dots. */
  isHeldAt?: (index: number) => boolean;
};

export const longRunModel = "ollama/qwen3:8b";

export function startLongRun({ steps, calls, words = 10, pauseMs = 1, beforeStep, isHeldAt }: LongRun): ModelServer {
  const answer = async (request: Request): Promise<Response> => {
    const body = (await request.json()) as JsonValue;
    const step = listOf(field(body, "messages")).filter((message) => field(message, "role") === "tool").length / calls;
    await beforeStep?.(step);
    const pieces = step < steps ? callsOf(step, calls) : [line({ content: "done" }, "stop")];
    const stream = streamPieces([...wordsOf(step, words), ...pieces], { pauseMs, isHeldAt });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
  return startModelServer(
    { steps: [], final: "" },
    { route: (request, path) => (path.endsWith("/chat/completions") ? answer(request) : null) },
  );
}

async function* streamPieces(pieces: string[], { pauseMs = 0, isHeldAt }: Partial<LongRun>): AsyncGenerator<string> {
  for (const [index, piece] of pieces.entries()) {
    for (; isHeldAt?.(index) === true; await Bun.sleep(300)) yield line({ content: "." }, null);
    yield piece;
    await Bun.sleep(pauseMs);
  }
  yield "data: [DONE]\n\n";
}

function wordsOf(step: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => line({ content: `${step}.${index} ` }, null));
}

function callsOf(step: number, calls: number): string[] {
  const call = (index: number) => ({
    index,
    id: `call_${step}_${index}`,
    type: "function",
    function: { name: "read", arguments: '{"path":"note.txt"}' },
  });
  return [line({ tool_calls: Array.from({ length: calls }, (_, index) => call(index)) }, "tool_calls")];
}

function line(delta: object, finish: string | null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], usage: finish === null ? null : usage })}\n\n`;
}

const usage = { prompt_tokens: 10, completion_tokens: 5 };
