// What the model is told about each tool, as short as it can be: every request carries it. Data only, so that a
// request can be made before anything that runs tools is loaded.
import type { ToolDefinition } from "../../protocol/api/ports.ts";

export const definitions: Record<"read" | "write" | "edit" | "bash", ToolDefinition> = {
  read: {
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
  write: {
    name: "write",
    description: "Create or overwrite a file.",
    parameters: {
      type: "object",
      properties: { path: { type: "string" }, content: { type: "string" } },
      required: ["path", "content"],
    },
  },
  edit: {
    name: "edit",
    description: "Replace old_text, which must occur exactly once in the file.",
    parameters: {
      type: "object",
      properties: { path: { type: "string" }, old_text: { type: "string" }, new_text: { type: "string" } },
      required: ["path", "old_text", "new_text"],
    },
  },
  bash: {
    name: "bash",
    description: "Run a bash command; returns stdout and stderr.",
    parameters: {
      type: "object",
      properties: { command: { type: "string" }, timeout: { type: "number", description: "seconds" } },
      required: ["command"],
    },
  },
};
