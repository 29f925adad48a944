// The tools of the executor: the definition that the model gets, and the facts that tool levels, roles and file
// records are derived from. Data only. Every request carries the definitions, so they are as short as possible.
import type { ToolDefinition, ToolProperty } from "./ports.ts";

export type ExecutorToolName = "read" | "write" | "edit" | "bash";

export type ToolEntry = {
  /** The lowest tool level that offers it. */
  level: "readonly" | "minimal";
  /** Whether a call may change files of the project. */
  changesFiles: boolean;
  description: string;
  parameters: Readonly<Record<string, ToolProperty>>;
  required: readonly string[];
};

export const executorTools: Record<ExecutorToolName, ToolEntry> = {
  read: {
    level: "readonly",
    changesFiles: false,
    description: "Read a text file (numbered lines) or an image.",
    parameters: {
      path: { type: "string" },
      offset: { type: "integer", description: "first line, from 1" },
      limit: { type: "integer", description: "lines, default 2000" },
    },
    required: ["path"],
  },
  write: {
    level: "minimal",
    changesFiles: true,
    description: "Create or overwrite a file.",
    parameters: { path: { type: "string" }, content: { type: "string" } },
    required: ["path", "content"],
  },
  edit: {
    level: "minimal",
    changesFiles: true,
    description: "Replace old_text, which must be unique in the file.",
    parameters: { path: { type: "string" }, old_text: { type: "string" }, new_text: { type: "string" } },
    required: ["path", "old_text", "new_text"],
  },
  bash: {
    level: "readonly",
    changesFiles: true,
    description: "Run a bash command; returns stdout and stderr.",
    parameters: { command: { type: "string" }, timeout: { type: "number", description: "seconds" } },
    required: ["command"],
  },
};

export const executorToolNames = Object.keys(executorTools) as ExecutorToolName[];
export const toolDefinitions: readonly ToolDefinition[] = executorToolNames.map(toolDefinition);
export const readonlyToolNames: readonly string[] = executorToolNames.filter((name) => executorTools[name].level === "readonly");
/** The tool that reaches MCP servers. A turn with any tools has it if it has a server. */
export const mcpToolName = "mcp";
export const fileChangingTools: ReadonlySet<string> = new Set([
  ...executorToolNames.filter((name) => executorTools[name].changesFiles),
  mcpToolName,
]);

/** Tools of skein itself that change no file and start nothing that could. */
const harmlessTools: ReadonlySet<string> = new Set(["ask_user", "send_message", "report"]);

/** Whether a call of any agent may change files. The names of other agents' tools are not known, so they may. */
export function mayChangeFiles(tool: string): boolean {
  const entry = (executorTools as Partial<Record<string, ToolEntry>>)[tool];
  return entry?.changesFiles ?? !harmlessTools.has(tool);
}

export function toolDefinition(name: ExecutorToolName): ToolDefinition {
  const { description, parameters, required } = executorTools[name];
  return { name, description, parameters: { type: "object", properties: parameters, required } };
}
