// What is streaming, kept at most 100 ms behind: a crash loses no more of what was shown.
import { cutText } from "../../kit/text/cut-text.ts";
import type { TransientEventBody } from "../../protocol/tree/event.ts";
import type { Draft } from "../../store/store.ts";

const everyMs = 100;
const outputBytes = 16 * 1024;

export type Drafts = {
  note: (event: TransientEventBody) => void;
  /** A node made these texts lasting. */
  drop: (keys: string[]) => void;
  all: () => Draft[];
  stop: () => Promise<void>;
};

export function createDrafts(save: (draft: Draft) => Promise<void>): Drafts {
  const texts = new Map<string, string>();
  const dirty = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  let saving = Promise.resolve();

  function add(key: string, text: string): void {
    texts.set(key, (texts.get(key) ?? "") + text);
    dirty.add(key);
    timer ??= setTimeout(flush, everyMs);
  }
  function flush(): void {
    timer = null;
    const changed = [...dirty];
    dirty.clear();
    saving = saving.then(async () => {
      for (const key of changed) {
        const text = texts.get(key);
        if (text !== undefined) await save({ key, text });
      }
    });
    saving.catch(() => {}); // the error is met again, and told, by the next append or by stop
  }

  return {
    note(event) {
      if (event.type === "text.delta") add("text", event.text);
      if (event.type === "thinking.delta") add("thinking", event.text);
      if (event.type !== "tool.output") return;
      add(event.call, event.text);
      const kept = texts.get(event.call) ?? "";
      if (kept.length > 2 * outputBytes) texts.set(event.call, cutText(kept, outputBytes, { keep: "tail" }).text);
    },
    drop(keys) {
      for (const key of keys) {
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
