// Shows the next request of a session without sending it.
import { bytesPerToken } from "../../../kit/text/bytes-per-token.ts";
import { byteLength } from "../../../kit/text/cut-text.ts";
import type { Part } from "../../../protocol/tree/node.ts";
import type { Preview, PreviewInput } from "../../../protocol/api/ports.ts";
import { renderMessages } from "./messages.ts";
import type { BoundModel, NativeAgentDeps } from "../native-agent.ts";
import { systemPrompt } from "./system-prompt.ts";
import { offeredTools } from "../tools/offered-tools.ts";

export async function preview(deps: NativeAgentDeps, input: PreviewInput): Promise<Preview> {
  const tools = offeredTools(input);
  const skills = tools.length > 0 ? deps.skills(input.directory, input.project).text : "";
  const contextFiles = input.contextFiles ? deps.contextFiles(input.directory, input.project) : [];
  const system = systemPrompt({ ...input, tools, contextFiles, skills });
  const messages = renderMessages(input.path);
  const previews = messages.map(({ role, parts }) => ({
    role,
    text: parts.map(partText).join("\n\n"),
    tokens: tokensOf(JSON.stringify(parts)),
  }));
  const model = await boundModel(deps, input.model);
  return {
    model: model?.name ?? input.model,
    system,
    tools,
    messages: previews,
    tokens: {
      system: tokensOf(system),
      tools: tools.length === 0 ? 0 : tokensOf(JSON.stringify(tools)),
      messages: previews.reduce((sum, message) => sum + message.tokens, 0),
    },
    body: (await model?.body({ system, tools, messages, cacheKey: input.session, maxOutputTokens: null })) ?? null,
  };
}

/** Null without a key: the preview then has no body, but is still useful. */
async function boundModel(deps: NativeAgentDeps, name: string | null): Promise<BoundModel | null> {
  return deps.model(name).catch(() => null);
}

function tokensOf(text: string): number {
  return Math.ceil(byteLength(text) / bytesPerToken.average);
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
