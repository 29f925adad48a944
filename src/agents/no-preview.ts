// The preview of an agent that sends no request itself: lists the messages without text or token counts.
import type { Preview, PreviewInput } from "../protocol/api/ports.ts";

export async function noPreview({ path }: Pick<PreviewInput, "path">): Promise<Preview> {
  return {
    model: null,
    system: "",
    tools: [],
    messages: path.map((node) => ({ role: node.author, text: "", tokens: 0 })),
    tokens: { system: 0, tools: 0, messages: 0 },
    body: null,
  };
}
