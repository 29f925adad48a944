// The tools of the executor: the definition that the model gets, and the facts that tool levels, roles and file
// records are derived from. Data only. Every request carries the definitions, so they are as short as possible.
import type { ToolDefinition } from "./ports.ts";

export type ExecutorToolName = "read" | "write" | "edit" | "bash";

export type ToolEntry = {
  definition: ToolDefinition;
  /** The lowest tool level that offers it. */
  level: "readonly" | "minimal";
  /** Whether a call may change files of the project. */
  changesFiles: boolean;
};

export const executorTools: Record<ExecutorToolName, ToolEntry> = {
  read: {
    level: "readonly",
    changesFiles: false,
    definition: {
      name: "read",
      description: "Read a text file (numbered lines) or an image.",
      parameters: {
        type: "object",
        properties: {
          path: { type: "string" },
          offset: { type: "integer", description: "first line, from 1" },
          limit: { type: "integer", description: "lines, default 2000" },
        },
        required: ["path"],
      },
    },
  },
  write: {
    level: "minimal",
    changesFiles: true,
    definition: {
      name: "write",
      description: "Create or overwrite a file.",
      parameters: {
        type: "object",
        properties: { path: { type: "string" }, content: { type: "string" } },
        required: ["path", "content"],
      },
    },
  },
  edit: {
    level: "minimal",
    changesFiles: true,
    definition: {
      name: "edit",
      description: "Replace old_text, which must occur exactly once in the file.",
      parameters: {
        type: "object",
        properties: { path: { type: "string" }, old_text: { type: "string" }, new_text: { type: "string" } },
        required: ["path", "old_text", "new_text"],
      },
    },
  },
  bash: {
    level: "readonly",
    changesFiles: true,
    definition: {
      name: "bash",
      description: "Run a bash command; returns stdout and stderr.",
      parameters: {
        type: "object",
        properties: { command: { type: "string" }, timeout: { type: "number", description: "seconds" } },
        required: ["command"],
      },
    },
  },
};

const entries = Object.values(executorTools);
const nameOf = ({ definition }: ToolEntry): string => definition.name;

export const toolDefinitions: readonly ToolDefinition[] = entries.map(({ definition }) => definition);
export const executorToolNames: readonly string[] = entries.map(nameOf);
export const readonlyToolNames: readonly string[] = entries.filter(({ level }) => level === "readonly").map(nameOf);
export const fileChangingTools: ReadonlySet<string> = new Set(entries.filter(({ changesFiles }) => changesFiles).map(nameOf));
