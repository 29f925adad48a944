// Effects of typing: saves the history, searches files, reads images at pasted paths, withdraws queued messages.
import { stripAnsi } from "../../kit/text/ansi.ts";
import type { ImageData } from "../../protocol/tree/node.ts";
import { describeError, type EffectHandlers, type EffectContext } from "./effect-context.ts";
import { nextAgent } from "./settings.ts";

const maxFiles = 50;
/** A longer message is a document, and is not added to the history. */
const maxHistoryChars = 20_000;

export const typingEffects: EffectHandlers<"add to history" | "take back" | "attach" | "find files" | "edit prompt"> = {
  "add to history": ({ local }, { text }) => (text.length > maxHistoryChars ? undefined : local.history.add(text)),
  /** Only the native agent takes images. For other agents the path stays text. */
  attach: (ctx, { path, text }) => {
    const { agent } = nextAgent(ctx);
    const asText = (problem: string) => ctx.send({ type: "attached", path: null, text, problem });
    if (agent !== "native") return asText(`${agent} takes no images: the path stays text`);
    try {
      ctx.pastedImages.set(path, ctx.local.readImage(path));
    } catch (error) {
      return asText(`the path stays text: ${describeError(error).text}`);
    }
    ctx.send({ type: "attached", path, text, problem: null });
  },
  "take back": async ({ api, send }, { session, input }) => {
    const withdrawn = await api.turn.takeBack({ session, input });
    send({ type: "taken back", input, text: withdrawn?.text ?? null });
  },
  "edit prompt": async ({ editor, lendTerminal, send }, { text }) => {
    const command = editor.command();
    send({ type: "prompt", text: stripAnsi(await lendTerminal(() => editor.editText(command, text))) });
  },
  /** Runs one search at a time. Of the queries that arrive meanwhile only the latest is searched. */
  "find files": async ({ api, directory, files, send }, { query }) => {
    files.nextQuery = query;
    if (files.isSearching) return;
    files.isSearching = true;
    try {
      for (let current: string | null = query; current !== null; current = files.nextQuery) {
        files.nextQuery = null;
        try {
          const result = await api.files.list({ directory, query: current, limit: maxFiles });
          send({ type: "found files", query: current, files: result.files, problem: null });
        } catch (error) {
          send({ type: "found files", query: current, files: [], problem: describeError(error).text });
        }
      }
    } finally {
      files.isSearching = false;
    }
  },
};

export function readPastedImage({ local, pastedImages }: EffectContext, path: string): ImageData {
  return pastedImages.get(path) ?? local.readImage(path);
}
