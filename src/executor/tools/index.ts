// The table of tools. A tool is a file, a definition and a row here.
import { bashTool } from "./bash.ts";
import { editTool } from "./edit.ts";
import { readTool } from "./read.ts";
import type { Tool } from "./tool.ts";
import { writeTool } from "./write.ts";

export const tools: readonly Tool[] = [readTool, writeTool, editTool, bashTool];
