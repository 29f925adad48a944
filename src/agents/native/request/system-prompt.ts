// The system prompt. It is short and the same for every request of a session, so that the vendor can cache it.
import type { Policy } from "../../../protocol/api/policy.ts";
import type { ToolDefinition } from "../../../protocol/api/ports.ts";

export type PromptInput = {
  directory: string;
  tools: ToolDefinition[];
  /** Replaces the opening; context files and skills still follow. */
  system: string | null;
  appendSystem: string | null;
  contextFiles: { path: string; text: string }[];
  skills: string;
  policy: Pick<Policy, "name" | "addDirs">;
  /** Text of .skein/plan.md. The prompt ends with it, unchanged. */
  plan: string | null;
};

export function systemPrompt(input: PromptInput): string {
  const blocks = [input.system ?? opening(input.tools.map((tool) => tool.name))];
  if (input.tools.length > 0)
    blocks.push([`Working directory: ${input.directory}`, ...input.policy.addDirs.map((path) => `Also yours: ${path}`)].join("\n"));
  for (const file of input.contextFiles) blocks.push(`## ${file.path}\n${file.text.trim()}`);
  if (input.skills !== "") blocks.push(input.skills);
  if (input.appendSystem !== null) blocks.push(input.appendSystem);
  if (input.policy.name === "plan" && input.tools.length > 0) blocks.push(planning);
  return blocks.join("\n\n") + (input.plan === null ? "" : `\n\n## Plan\n${input.plan}`);
}

const planning =
  "You are planning: carry nothing out. Only .skein/plan.md can be written, in place. Finish with the whole plan there, as steps with boxes (- [ ]), for a reader who does not know this conversation.";

function opening(tools: string[]): string {
  if (tools.length === 0) return "You are an expert software engineer. Answer precisely and briefly.";
  const lines = [
    "You are an expert software engineer in a user's project. Do the task yourself, to the end.",
    "- Look before you change: find files with bash (rg, ls, git), read what you edit.",
  ];
  if (tools.includes("edit")) lines.push("- Keep to the style you find.");
  lines.push("- Check your work: run the tests or the program. Never claim what you have not seen.");
  lines.push("- Call independent tools together in one message.");
  lines.push("- Finish with a short answer: what you did, found and left open. Name files as path:line.");
  return lines.join("\n");
}
