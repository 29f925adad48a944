// Markdown inside a line: code, emphasis, what is struck out, links and images. A mark without its other half stays text.
import type { TextStyle, TextRun } from "../../kit/text/ansi.ts";
import { code, faint } from "../layout/styles.ts";

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
  let from = 0;
  const push = (piece: string, style: TextStyle) => {
    if (piece !== "") runs.push({ text: piece, style: style });
  };
  for (const found of text.matchAll(marks)) {
    push(text.slice(from, found.index), style);
    from = found.index + found[0].length;
    push(found[1] ?? "", style);
    runs.push(...marked(found.groups ?? {}, style));
  }
  push(text.slice(from), style);
  return runs;
}

function marked(found: Record<string, string | undefined>, style: TextStyle): TextRun[] {
  const strong = found["strong"] ?? found["strongToo"];
  const emphasis = found["emphasis"] ?? found["emphasisToo"];
  const { code: quoted, both, struck, label, target, image } = found;
  if (quoted !== undefined) return [{ text: quoted.replace(/^ (.*\S.*) $/, "$1"), style: { ...style, ...code } }];
  if (both !== undefined) return inlineRuns(both, { ...style, bold: true, italic: true });
  if (strong !== undefined) return inlineRuns(strong, { ...style, bold: true });
  if (emphasis !== undefined) return inlineRuns(emphasis, { ...style, italic: true });
  if (struck !== undefined) return inlineRuns(struck, { ...style, strike: true });
  if (label === undefined || target === undefined) return [];
  const shown = inlineRuns(image === "!" ? `image: ${label}` : label, { ...style, underline: true });
  return target === label ? shown : [...shown, { text: ` (${target})`, style: { ...style, ...faint } }];
}
