// Stores texts while they stream, at most every 100 ms. A crash loses at most the last 100 ms of the shown text.
import { cutText } from "../../kit/text/cut-text.ts";
import type { TransientEventBody } from "../../protocol/tree/event.ts";
import type { Draft } from "../../store/store.ts";

const saveEveryMs = 100;
const maxOutputBytes = 16 * 1024;

export type Drafts = {
  applyEvent: (event: TransientEventBody) => void;
  /** Saves these texts no more: the node that completes them is being stored, and a later draft would stay behind. */
  hold: (keys: string[]) => void;
  /** Removes texts that are stored as a node now. */
  drop: (keys: string[]) => void;
  all: () => Draft[];
  /** Cancels the scheduled save and waits for the running one. Unsaved text is still in `all()`. Rejects if a save failed. */
  stop: () => Promise<void>;
};

export function createDrafts(save: (draft: Draft) => Promise<void>): Drafts {
  const texts = new Map<string, string>();
  const dirty = new Set<string>();
  const held = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  let dirtySince = 0;
  let saving = Promise.resolve();

  function add(key: string, text: string): void {
    texts.set(key, (texts.get(key) ?? "") + text);
    dirty.add(key);
    if (timer === null) dirtySince = performance.now();
    // Bun runs no timers while a stream has data, and on a busy machine they are late.
    else if (performance.now() - dirtySince >= saveEveryMs) return flush();
    timer ??= setTimeout(flush, saveEveryMs);
  }
  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const changed = [...dirty];
    dirty.clear();
    saving = saving.then(async () => {
      for (const key of changed) {
        const text = texts.get(key);
        if (text !== undefined && !held.has(key)) await save({ key, text });
      }
    });
    saving.catch(() => {}); // `stop` rejects with the same error when the recorder ends the turn
  }

  return {
    applyEvent(event) {
      if (event.type === "text.delta") add("text", event.text);
      if (event.type === "thinking.delta") add("thinking", event.text);
      if (event.type !== "tool.output") return;
      add(event.call, event.text);
      const output = texts.get(event.call) ?? "";
      if (output.length > 2 * maxOutputBytes) texts.set(event.call, cutText(output, maxOutputBytes, { keep: "tail" }).text);
    },
    hold(keys) {
      for (const key of keys) held.add(key);
    },
    drop(keys) {
      for (const key of keys) {
        held.delete(key);
        texts.delete(key);
        dirty.delete(key);
      }
    },
    all: () => [...texts].map(([key, text]) => ({ key, text })),
    async stop() {
      if (timer !== null) clearTimeout(timer);
      await saving;
    },
  };
}
