// Bounds the tool output that watchers see: one transient event per 50 ms, with about the newest 8 KB.
// The caller stores the full output.
import { cutText } from "../text/cut-text.ts";

const intervalMs = 50;
const maxBytes = 8 * 1024;

export function outputEvents(emit: (text: string) => void): { push: (chunk: Uint8Array | string) => void; flush: () => void } {
  const decoder = new TextDecoder();
  let pending = "";
  let droppedBytes = 0;
  let timer: ReturnType<typeof setTimeout> | null = null;

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (pending === "") return;
    const text = droppedBytes > 0 ? `[... ${droppedBytes} bytes ...]\n${pending}` : pending;
    pending = "";
    droppedBytes = 0;
    emit(text);
  }

  return {
    push(chunk) {
      pending += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
      if (pending.length > 2 * maxBytes) {
        const cut = cutText(pending, maxBytes, { keep: "tail" });
        droppedBytes += cut.cutBytes;
        pending = cut.text;
      }
      timer ??= setTimeout(flush, intervalMs);
    },
    flush,
  };
}
