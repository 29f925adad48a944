// What typing needs from outside: what was sent before, files to name, images at pasted paths.
import type { ImageData } from "../../protocol/tree/node.ts";
import { describeError, type EffectHandlers, type EffectContext } from "./effect-context.ts";
import { nextAgent } from "./settings.ts";

const mostFiles = 50;
/** What is longer is a document, and stays in its session. */
const longestKept = 20_000;

export const typingEffects: EffectHandlers<"remember" | "take back" | "attach" | "find files"> = {
  remember: ({ local: own }, { text }) => (text.length > longestKept ? undefined : own.history.add(text)),
  attach,
  "take back": async ({ api, send }, { session, input }) => {
    const taken = await api.turn.takeBack({ session, input });
    send({ type: "taken back", input, text: taken?.text ?? null });
  },
  "find files": findFiles,
};

/** Only the native agent is sent images; to others a path is text like any other. */
function attach(ctx: EffectContext, { path, text }: { path: string; text: string }): void {
  const { agent } = nextAgent(ctx);
  const asText = (problem: string | null) => ctx.send({ type: "attached", path: null, text, problem });
  if (agent !== "native") return asText(`${agent} is sent text: the path of the image stays text`);
  try {
    ctx.pasted.set(path, ctx.local.readImage(path));
  } catch (error) {
    return asText(`the path stays text: ${describeError(error).text}`);
  }
  ctx.send({ type: "attached", path, text, problem: null });
}

export function readPastedImage({ local: own, pasted }: EffectContext, path: string): ImageData {
  return pasted.get(path) ?? own.readImage(path);
}

/** One question at a time; of those that came meanwhile only the latest is asked. */
async function findFiles(ctx: EffectContext, { query }: { query: string }): Promise<void> {
  const { api, directory, files, send } = ctx;
  files.query = query;
  if (files.isAsking) return;
  files.isAsking = true;
  try {
    for (let asked: string | null = query; asked !== null; asked = files.query) {
      files.query = null;
      try {
        const { files: found } = await api.files.list({ directory, query: asked, limit: mostFiles });
        send({ type: "found files", query: asked, files: found, problem: null });
      } catch (error) {
        send({ type: "found files", query: asked, files: [], problem: describeError(error).text });
      }
    }
  } finally {
    files.isAsking = false;
  }
}
