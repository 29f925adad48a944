// A model that makes a run of many events: so many steps, each with some words and so many calls at once, on the wire of
// Chat Completions. It goes on when it is told to, so that others can come while it runs.
import { startModelServer, type ModelServer } from "../../src/scripted-model/model-server.ts";
import { field, listOf, type JsonValue } from "../../src/scripted-model/json.ts";

export type LongRun = {
  steps: number;
  calls: number;
  /** Pieces of text before the calls, and the time between two of them. */
  words?: number;
  pauseMs?: number;
  beforeStep?: (step: number) => Promise<void> | void;
  /** Asked before each piece; as long as it says so, the model hems and haws. */
  isHeldAt?: (at: number) => boolean;
};

export const longRunModel = "ollama/qwen3:8b";

export function startLongRun({ steps, calls, words = 10, pauseMs = 1, beforeStep, isHeldAt }: LongRun): ModelServer {
  const answer = async (request: Request): Promise<Response> => {
    const body = (await request.json()) as JsonValue;
    const step = listOf(field(body, "messages")).filter((message) => field(message, "role") === "tool").length / calls;
    await beforeStep?.(step);
    const pieces = step < steps ? callsOf(step, calls) : [line({ content: "done" }, "stop")];
    const speech = spoken([...wordsOf(step, words), ...pieces], { pauseMs, isHeldAt });
    return new Response(speech, { headers: { "content-type": "text/event-stream" } });
  };
  return startModelServer(
    { steps: [], final: "" },
    { route: (request, path) => (path.endsWith("/chat/completions") ? answer(request) : null) },
  );
}

async function* spoken(pieces: string[], { pauseMs = 0, isHeldAt }: Partial<LongRun>): AsyncGenerator<string> {
  for (const [at, piece] of pieces.entries()) {
    for (; isHeldAt?.(at) === true; await Bun.sleep(300)) yield line({ content: "." }, null);
    yield piece;
    await Bun.sleep(pauseMs);
  }
  yield "data: [DONE]\n\n";
}

function wordsOf(step: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => line({ content: `${step}.${at} ` }, null));
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
