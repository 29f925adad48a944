// The shell tools of the agents' CLIs, and the input with which each runs a command.
import { textOf, type JsonValue, type JsonObject } from "./json.ts";
import type { DeclaredTool } from "./wires/wire.ts";

type ShellTool = { name: string; form: "json" | "free"; input: (command: string, otherFields: JsonObject) => JsonValue };

const shellTools: ShellTool[] = [
  { name: "bash", form: "json", input: (command, otherFields) => ({ command, ...otherFields }) },
  { name: "Bash", form: "json", input: (command, otherFields) => ({ command, description: "run a command", ...otherFields }) },
  { name: "exec_command", form: "json", input: (cmd) => ({ cmd }) },
  { name: "shell_command", form: "json", input: (command) => ({ command }) },
  { name: "run_shell_command", form: "json", input: (command) => ({ command, is_background: false }) },
  { name: "shell", form: "json", input: (command) => ({ command: ["bash", "-lc", command] }) },
  // Codex's newest models write JavaScript that calls the real tool.
  {
    name: "exec",
    form: "free",
    input: (cmd) => `const result = await tools.exec_command(${JSON.stringify({ cmd })});\ntext(result.output);\n`,
  },
];

export function hasShellTool(declared: DeclaredTool[]): boolean {
  return findShellTool(declared) !== undefined;
}

/** Converts a "shell" call to the client's own shell tool. Other calls stay unchanged. */
export function translateCall(name: string, input: JsonObject, declared: DeclaredTool[]): DeclaredTool & { input: JsonValue } {
  const tool = name === "shell" ? (findShellTool(declared) ?? shellTools[0]) : undefined;
  const toolName = tool?.name ?? name;
  const declaration = declared.find((candidate) => candidate.name === toolName) ?? { name: toolName, form: "json" };
  const { command, ...otherFields } = input;
  return { ...declaration, input: tool === undefined ? input : tool.input(textOf(command), otherFields) };
}

function findShellTool(declared: DeclaredTool[]): ShellTool | undefined {
  return shellTools.find((tool) => declared.some(({ name, form }) => name === tool.name && form === tool.form));
}
