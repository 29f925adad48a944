// Markdown inside a line: code, emphasis, strikethrough, links and images. A mark without its counterpart stays text.
import type { TextStyle, TextRun } from "../../kit/text/ansi.ts";
import { code, faint } from "../layout/styles.ts";
import { styled } from "../layout/wrap.ts";

const marks = new RegExp(
  [
    String.raw`\\([\\!"#$%&'()*+,./:;<=>?@[\]^_{|}~\x60-])`,
    "(?<ticks>`+)(?<code>.*?[^`])\\k<ticks>(?!`)",
    String.raw`\*\*\*(?<both>\S(?:[^*]*\S)?)\*\*\*`,
    String.raw`\*\*(?<strong>\S(?:.*?\S)??)\*\*`,
    String.raw`(?<![\w_])__(?<strongToo>\S(?:.*?\S)??)__(?!\w)`,
    String.raw`(?<![\w*])\*(?<emphasis>[^\s*](?:[^*]*[^\s*])?)\*(?!\*)`,
    String.raw`(?<![\w_])_(?<emphasisToo>[^\s_](?:[^_]*[^\s_])?)_(?!\w)`,
    "~~(?<struck>[^~]+)~~",
    String.raw`(?<image>!?)\[(?<label>[^\]]+)\]\((?<target>[^)\s]+)(?:\s+"[^"]*")?\)`,
  ].join("|"),
  "g",
);

export function inlineRuns(text: string, style: TextStyle): TextRun[] {
  const runs: TextRun[] = [];
  let offset = 0;
  const push = (piece: string) => {
    if (piece !== "") runs.push(styled(piece, style));
  };
  for (const match of text.matchAll(marks)) {
    push(text.slice(offset, match.index));
    offset = match.index + match[0].length;
    push(match[1] ?? "");
    runs.push(...runsOfMark(match.groups ?? {}, style));
  }
  push(text.slice(offset));
  return runs;
}

/** One space on each side of code is not part of it, unless it is only spaces. */
function withoutPadding(text: string): string {
  return text.startsWith(" ") && text.endsWith(" ") && text.trim() !== "" ? text.slice(1, -1) : text;
}

function runsOfMark(groups: Record<string, string | undefined>, style: TextStyle): TextRun[] {
  const strong = groups["strong"] ?? groups["strongToo"];
  const emphasis = groups["emphasis"] ?? groups["emphasisToo"];
  const { code: quoted, both, struck, label, target, image } = groups;
  if (quoted !== undefined) return [styled(withoutPadding(quoted), { ...style, ...code })];
  if (both !== undefined) return inlineRuns(both, { ...style, bold: true, italic: true });
  if (strong !== undefined) return inlineRuns(strong, { ...style, bold: true });
  if (emphasis !== undefined) return inlineRuns(emphasis, { ...style, italic: true });
  if (struck !== undefined) return inlineRuns(struck, { ...style, strike: true });
  if (label === undefined || target === undefined) return [];
  const linkText = inlineRuns(image === "!" ? `image: ${label}` : label, { ...style, underline: true });
  return target === label ? linkText : [...linkText, styled(` (${target})`, { ...style, ...faint })];
}
