// What the next request of a session would hold, without sending it.
import { byteLength } from "../../../kit/text/cut-text.ts";
import type { Part } from "../../../protocol/tree/node.ts";
import type { Preview, PreviewInput } from "../../../protocol/api/ports.ts";
import { renderMessages } from "./messages.ts";
import type { BoundModel, NativeAgentDeps } from "../native.ts";
import { systemPrompt } from "./system-prompt.ts";
import { offeredTools } from "../tools/offered-tools.ts";

/** English and code both come to a little under four bytes a token; the counts are told as estimates. */
const bytesPerToken = 3.7;

export async function preview(deps: NativeAgentDeps, input: PreviewInput): Promise<Preview> {
  const tools = offeredTools(input);
  const skills = tools.length > 0 ? deps.skills(input.directory, input.project).text : "";
  const contextFiles = input.contextFiles ? deps.contextFiles(input.directory, input.project) : [];
  const system = systemPrompt({ ...input, tools, contextFiles, skills });
  const messages = renderMessages(input.path);
  const shown = messages.map(({ role, parts: pieces }) => ({
    role,
    text: pieces.map(partText).join("\n\n"),
    tokens: tokensOf(JSON.stringify(pieces)),
  }));
  const model = await boundModel(deps, input.model);
  return {
    model: model?.name ?? input.model,
    system,
    tools,
    messages: shown,
    tokens: {
      system: tokensOf(system),
      tools: tools.length === 0 ? 0 : tokensOf(JSON.stringify(tools)),
      messages: shown.reduce((sum, message) => sum + message.tokens, 0),
    },
    body: (await model?.body({ system, tools, messages, cacheKey: input.session, maxOutputTokens: null })) ?? null,
  };
}

/** Looking needs no key: without one there is only no body. */
async function boundModel(deps: NativeAgentDeps, name: string | null): Promise<BoundModel | null> {
  return deps.model(name).catch(() => null);
}

function tokensOf(text: string): number {
  return Math.ceil(byteLength(text) / bytesPerToken);
}

function partText(part: Part): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "thinking":
      return `(thinking) ${part.text}`;
    case "call":
      return `→ ${part.name} ${JSON.stringify(part.input)}`;
    case "result":
      return `${part.isError ? "✗" : "✓"} ${part.name}\n${part.text}`;
    case "image":
      return `[${part.mime}]`;
    case "handle":
      return part.excerpt;
  }
}
