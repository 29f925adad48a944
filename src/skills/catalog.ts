// The skills as the system prompt lists them: one bounded line each. Bodies are read only when they are used.
import { dirname } from "node:path";
import type { SkillInfo } from "../protocol/api/api.ts";
import { oneLine } from "../kit/text/cut-text.ts";

const maxDescription = 400;
const maxBytes = 16_000;

/** Empty for none. Names and descriptions come from files, so each is kept on its line. */
export function catalogText(skills: readonly SkillInfo[]): string {
  const offered = skills.filter((skill) => !skill.hidden);
  const lines: string[] = [];
  let bytes = 0;
  for (const skill of offered) {
    const line = `- ${oneLine(skill.name, 64)}: ${oneLine(skill.description, maxDescription)} (${skill.path.replace(/\p{Cc}+/gu, "?")})`;
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) break;
    lines.push(line);
  }
  if (offered.length === 0) return "";
  const missing = offered.slice(lines.length);
  if (missing.length > 0) lines.push(`- and ${missing.length} more, in ${placesOf(missing)}`);
  return [`Skills: when a task fits one, read its file with \`read\` before you use it.`, ...lines].join("\n");
}

function placesOf(skills: readonly SkillInfo[]): string {
  const places = [...new Set(skills.map((skill) => dirname(dirname(skill.path)).replace(/\p{Cc}+/gu, "?")))];
  return places.length > 5 ? `${places.slice(0, 5).join(", ")} and ${places.length - 5} other directories` : places.join(", ");
}
