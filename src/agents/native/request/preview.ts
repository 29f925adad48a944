// Shows the next request of a session without sending it.
import { bytesPerToken } from "../../../kit/text/bytes-per-token.ts";
import { byteLength } from "../../../kit/text/cut-text.ts";
import type { Part } from "../../../protocol/tree/node.ts";
import type { Preview, PreviewInput, ToolDefinition } from "../../../protocol/api/ports.ts";
import { renderMessages } from "./messages.ts";
import type { NativeAgentDeps } from "../native-agent.ts";
import { systemPrompt } from "./system-prompt.ts";
import { offeredTools, type ToolSurroundings } from "../tools/offered-tools.ts";

export async function preview(deps: NativeAgentDeps, input: PreviewInput): Promise<Preview> {
  const tools = offeredTools(input, surroundingsOf(deps, input));
  const { system } = buildSystemPrompt(deps, input, tools);
  const messages = renderMessages(input.path);
  const previews = messages.map(({ role, parts }) => ({
    role,
    text: parts.map(partText).join("\n\n"),
    tokens: tokensOf(JSON.stringify(parts)),
  }));
  // Without a key the preview has no body, but is still useful.
  const model = await deps.model(input.model).catch(() => null);
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

export function surroundingsOf(deps: NativeAgentDeps, { mcpServers }: Pick<PreviewInput, "mcpServers">): ToolSurroundings {
  return { spawnTargets: deps.spawnTargets, servers: deps.serverNames({ mcpServers }) };
}

/** The system prompt of a turn and of its preview, and the files of the skills that it lists. */
export function buildSystemPrompt(
  deps: NativeAgentDeps,
  input: Omit<PreviewInput, "canAsk">,
  tools: ToolDefinition[],
): { system: string; skillPaths: string[] } {
  const { directory, project } = input;
  const skills = tools.length > 0 ? deps.skills(directory, project) : { text: "", paths: [] };
  const contextFiles = input.contextFiles ? deps.contextFiles(directory, project) : [];
  return { system: systemPrompt({ ...input, tools, contextFiles, skills: skills.text }), skillPaths: skills.paths };
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
