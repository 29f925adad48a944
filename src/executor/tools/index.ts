// The functions that run tools. Their definitions are in src/protocol/api/tool-table.ts.
import type { ExecutorToolName } from "../../protocol/api/tool-table.ts";
import { runBash } from "./bash.ts";
import { runEdit } from "./edit.ts";
import { runRead } from "./read.ts";
import type { RunTool } from "./tool.ts";
import { runWrite } from "./write.ts";

export const toolFunctions: Record<ExecutorToolName, RunTool> = { read: runRead, write: runWrite, edit: runEdit, bash: runBash };
