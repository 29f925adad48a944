// Which tools a role names, in our words or in Claude Code's. What we do not have, or can't hold it to, is left out and said.
import { oneLine } from "../kit/text/cut-text.ts";
import { toolsByLevel } from "../protocol/api/policy.ts";
import { fileChangingTools } from "../protocol/api/tool-table.ts";

const ours = toolsByLevel.orchestrator;

const otherNames: Readonly<Record<string, string>> = {
  multiedit: "edit",
  notebookedit: "edit",
  task: "spawn_session",
  agent: "spawn_session",
};

/** Looking around is done in bash here, which does more: it is given for these only where nothing can be written. */
const looking = new Set(["grep", "glob", "ls"]);

/** Everyone may ask, where someone can answer. */
const everyones = new Set(["ask_user", "askuserquestion"]);

/** `onlyLooks`: it names nothing that could change a file, or have another do so. */
export type NamedTools = { tools: string[]; onlyLooks: boolean; notes: string[] };

export function resolveToolNames(names: readonly string[], without: readonly string[]): NamedTools {
  const limited = names.filter((name) => name.includes("("));
  const plain = names.filter((name) => !name.includes("(")).map(ourName);
  const banned = new Set(without.map((name) => ourName(name.replace(/\(.*/, ""))));
  const wanted = new Set((plain.includes("*") ? ours : plain).filter((name) => !banned.has(name) && !everyones.has(name)));
  const tools = ours.filter((name) => wanted.has(name));
  const onlyLooks = !tools.some((name) => name === "spawn_session" || fileChangingTools.has(name));
  const looks = [...wanted].some((name) => looking.has(name));
  if (looks && onlyLooks) tools.push("bash");
  const unknown = [...wanted].filter((name) => !ours.includes(name) && !looking.has(name));
  return {
    tools,
    onlyLooks,
    notes: [
      ...unknown.map((name) => `there is no tool ${oneLine(name, 60)}; left out`),
      ...limited.map((name) => `a tool can't be held to ${oneLine(name, 60)}; left out`),
      ...(looks && !tools.includes("bash") ? ["searching is done with bash, which it does not name; left out"] : []),
    ],
  };
}

function ourName(name: string): string {
  const plain = name.trim().toLowerCase();
  return otherNames[plain] ?? plain;
}
