// Resolves the tool names of a role, which are those of skein or of Claude Code. Unknown or restricted tools are left out with
// a note.
import { oneLine } from "../kit/text/cut-text.ts";
import { toolsByLevel } from "../protocol/api/policy.ts";
import { fileChangingTools, mcpToolName } from "../protocol/api/tool-table.ts";

const skeinTools = [...toolsByLevel.orchestrator, mcpToolName];

const otherNames: Readonly<Record<string, string>> = {
  multiedit: "edit",
  notebookedit: "edit",
  task: "spawn_session",
  agent: "spawn_session",
};

/** Claude Code's search tools. skein searches with bash. A role gets bash in their place only if it can't write. */
const searchTools = new Set(["grep", "glob", "ls"]);

/** Every role has these tools, so a file that names them gets no note. */
const sharedTools = new Set(["ask_user", "askuserquestion"]);

/** `isReadOnly` is true if no tool of the role can change a file, directly or in a sub-session. */
export type NamedTools = { tools: string[]; isReadOnly: boolean; notes: string[] };

export function resolveToolNames(names: readonly string[], without: readonly string[]): NamedTools {
  const restricted = names.filter((name) => name.includes("("));
  const plain = names.filter((name) => !name.includes("(")).map(skeinName);
  const banned = new Set(without.map((name) => skeinName(name.replace(/\(.*/, ""))));
  const requested = new Set((plain.includes("*") ? skeinTools : plain).filter((name) => !banned.has(name) && !sharedTools.has(name)));
  const tools = skeinTools.filter((name) => requested.has(name));
  const isReadOnly = !tools.some((name) => name === "spawn_session" || fileChangingTools.has(name));
  const isSearching = [...requested].some((name) => searchTools.has(name));
  if (isSearching && isReadOnly) tools.push("bash");
  const unknown = [...requested].filter((name) => !skeinTools.includes(name) && !searchTools.has(name));
  return {
    tools,
    isReadOnly,
    notes: [
      ...unknown.map((name) => `there is no tool ${oneLine(name, 60)}; it is left out`),
      ...restricted.map((name) => `a tool can't be restricted to ${oneLine(name, 60)}; it is left out`),
      ...(isSearching && !tools.includes("bash") ? ["its search tools need bash, which the role does not name; they are left out"] : []),
    ],
  };
}

function skeinName(name: string): string {
  const plain = name.trim().toLowerCase();
  return otherNames[plain] ?? plain;
}
