// The list of skills in the system prompt: one bounded line for each. The model reads a skill's file when it uses it.
import { dirname } from "node:path";
import type { SkillInfo } from "../protocol/api/api.ts";
import { oneLine } from "../kit/text/cut-text.ts";

const maxDescriptionChars = 400;
const maxBytes = 16_000;

/** Empty if there are no skills. Names and descriptions come from files, so line breaks in them are removed. */
export function catalogText(skills: readonly SkillInfo[]): string {
  const listed = skills.filter((skill) => !skill.hidden);
  const lines: string[] = [];
  let bytes = 0;
  for (const skill of listed) {
    const line = `- ${oneLine(skill.name, 64)}: ${oneLine(skill.description, maxDescriptionChars)} (${skill.path.replace(/\p{Cc}+/gu, "?")})`;
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) break;
    lines.push(line);
  }
  if (listed.length === 0) return "";
  const missing = listed.slice(lines.length);
  if (missing.length > 0) lines.push(`- and ${missing.length} more, in ${directoriesOf(missing)}`);
  return [`Skills: when a task fits one, read its file with \`read\` before you use it.`, ...lines].join("\n");
}

function directoriesOf(skills: readonly SkillInfo[]): string {
  const directories = [...new Set(skills.map((skill) => dirname(dirname(skill.path)).replace(/\p{Cc}+/gu, "?")))];
  return directories.length > 5
    ? `${directories.slice(0, 5).join(", ")} and ${directories.length - 5} other directories`
    : directories.join(", ");
}
