// Turns a flood of tool output into a bounded stream of passing events: watchers see the newest text a few
// times a second, the whole goes to the sink untouched.
import { cutText } from "../../../kit/text/cut-text.ts";

const everyMs = 50;
const maxBytes = 8 * 1024;

export function outputEvents(emit: (text: string) => void): { push: (chunk: Uint8Array | string) => void; flush: () => void } {
  const decoder = new TextDecoder();
  let waiting = "";
  let dropped = 0;
  let timer: ReturnType<typeof setTimeout> | null = null;

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting === "") return;
    const text = dropped > 0 ? `[... ${dropped} bytes ...]\n${waiting}` : waiting;
    waiting = "";
    dropped = 0;
    emit(text);
  }

  return {
    push(chunk) {
      waiting += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
      if (waiting.length > 2 * maxBytes) {
        const cut = cutText(waiting, maxBytes, { keep: "tail" });
        dropped += cut.cutBytes;
        waiting = cut.text;
      }
      timer ??= setTimeout(flush, everyMs);
    },
    flush,
  };
}
