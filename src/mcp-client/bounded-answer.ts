// Bounds the answer of a server: its bytes, and the values of each message in it. A client of the protocol reads an answer whole.
import { isValueMark, maxJsonValues } from "../kit/text/json.ts";

/** An error whose message is already for the model and the user. It completes "the server ...". */
export class ServerRefusal extends Error {}

const maxAnswerBytes = 64 << 20;

export function boundedAnswer(response: Response, maxBytes = maxAnswerBytes): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const count = createValueCounter(isStream);
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > maxBytes) controller.error(new ServerRefusal(`sent more than ${maxBytes >> 20} MB in one answer`));
      else if (count(chunk) > maxJsonValues) controller.error(new ServerRefusal(`sent more than ${maxJsonValues} values in one message`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
}

const newline = 0x0a;
const carriageReturn = 0x0d;

/** The returned function adds a chunk, and returns the values of the message so far. A blank line ends a message of a stream. */
function createValueCounter(isStream: boolean): (chunk: Uint8Array) => number {
  let count = 0;
  let isLineEmpty = false;
  return (chunk) => {
    for (const byte of chunk) {
      if (isValueMark(byte)) count += 1;
      if (count > maxJsonValues) return count;
      if (!isStream || byte === carriageReturn) continue;
      if (byte === newline && isLineEmpty) count = 0;
      isLineEmpty = byte === newline;
    }
    return count;
  };
}
