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

export function inlineRuns(text: string, look: TextStyle): TextRun[] {
  const runs: TextRun[] = [];
  let from = 0;
  const push = (piece: string, style: TextStyle) => {
    if (piece !== "") runs.push({ text: piece, look: style });
  };
  for (const found of text.matchAll(marks)) {
    push(text.slice(from, found.index), look);
    from = found.index + found[0].length;
    push(found[1] ?? "", look);
    runs.push(...marked(found.groups ?? {}, look));
  }
  push(text.slice(from), look);
  return runs;
}

function marked(found: Record<string, string | undefined>, look: TextStyle): TextRun[] {
  const strong = found["strong"] ?? found["strongToo"];
  const emphasis = found["emphasis"] ?? found["emphasisToo"];
  const { code: quoted, both, struck, label, target, image } = found;
  if (quoted !== undefined) return [{ text: quoted.replace(/^ (.*\S.*) $/, "$1"), look: { ...look, ...code } }];
  if (both !== undefined) return inlineRuns(both, { ...look, bold: true, italic: true });
  if (strong !== undefined) return inlineRuns(strong, { ...look, bold: true });
  if (emphasis !== undefined) return inlineRuns(emphasis, { ...look, italic: true });
  if (struck !== undefined) return inlineRuns(struck, { ...look, strike: true });
  if (label === undefined || target === undefined) return [];
  const shown = inlineRuns(image === "!" ? `image: ${label}` : label, { ...look, underline: true });
  return target === label ? shown : [...shown, { text: ` (${target})`, look: { ...look, ...faint } }];
}
