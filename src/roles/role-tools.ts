// Resolves the tool names of a role, in skein's or Claude Code's words. Unknown or restricted tools are left out with a note.
import { oneLine } from "../kit/text/cut-text.ts";
import { toolsByLevel } from "../protocol/api/policy.ts";
import { fileChangingTools } from "../protocol/api/tool-table.ts";

const skeinTools = toolsByLevel.orchestrator;

const otherNames: Readonly<Record<string, string>> = {
  multiedit: "edit",
  notebookedit: "edit",
  task: "spawn_session",
  agent: "spawn_session",
};

/** Claude Code's search tools. skein searches with bash, which a role gets for them only if it can't write. */
const searchTools = new Set(["grep", "glob", "ls"]);

/** Every role has these, so they need no mention. */
const sharedTools = new Set(["ask_user", "askuserquestion"]);

/** `onlyLooks`: no tool of the role can change a file, directly or in a sub-session. */
export type NamedTools = { tools: string[]; onlyLooks: boolean; notes: string[] };

export function resolveToolNames(names: readonly string[], without: readonly string[]): NamedTools {
  const restricted = names.filter((name) => name.includes("("));
  const plain = names.filter((name) => !name.includes("(")).map(skeinName);
  const banned = new Set(without.map((name) => skeinName(name.replace(/\(.*/, ""))));
  const requested = new Set((plain.includes("*") ? skeinTools : plain).filter((name) => !banned.has(name) && !sharedTools.has(name)));
  const tools = skeinTools.filter((name) => requested.has(name));
  const onlyLooks = !tools.some((name) => name === "spawn_session" || fileChangingTools.has(name));
  const isSearching = [...requested].some((name) => searchTools.has(name));
  if (isSearching && onlyLooks) tools.push("bash");
  const unknown = [...requested].filter((name) => !skeinTools.includes(name) && !searchTools.has(name));
  return {
    tools,
    onlyLooks,
    notes: [
      ...unknown.map((name) => `there is no tool ${oneLine(name, 60)}; left out`),
      ...restricted.map((name) => `a tool can't be restricted to ${oneLine(name, 60)}; left out`),
      ...(isSearching && !tools.includes("bash") ? ["its search tools need bash, which it does not name; left out"] : []),
    ],
  };
}

function skeinName(name: string): string {
  const plain = name.trim().toLowerCase();
  return otherNames[plain] ?? plain;
}
