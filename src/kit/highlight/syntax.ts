// Highlights code: comments, strings, numbers and keywords, from one table of languages. Each line is coloured alone.
// The only state is a comment or string that is still open from the line before.
import type { TextStyle, TextRun } from "../text/ansi.ts";

const plain: TextStyle = {};
const commentStyle: TextStyle = { dim: true };
const keywordStyle: TextStyle = { color: 5 };
const stringStyle: TextStyle = { color: 2 };
const valueStyle: TextStyle = { color: 6 };
const removedStyle: TextStyle = { color: 1 };

type Language = {
  /** Names after a code fence and file extensions, separated by blanks. */
  names: string;
  keywords: string;
  /** Start of a comment that ends with the line. */
  comment?: string;
  /** Comments and strings of several lines: start, end, style. */
  spans?: readonly (readonly [begin: string, end: string, style: TextStyle])[];
  quotes?: string;
  /** Other highlighted tokens of the language: tags, keys, variables. */
  extraTokens?: RegExp;
};

const blockComment = ["/*", "*/", commentStyle] as const;
const cStyle = { comment: "//", spans: [blockComment], quotes: `"'` };
const cStyleWithBackticks = { ...cStyle, spans: [blockComment, ["`", "`", stringStyle] as const] };
const hashStyle = { comment: "#", quotes: `"'` };
const cKeywords =
  "auto break case catch char class const continue default delete do double else enum extern false final float for foreach goto if implements import inline int interface long namespace new null nullptr operator override package private protected public return short signed sizeof static string struct super switch template this throw throws true try typedef typename union unsigned using var virtual void volatile while bool internal readonly sealed async await get set fun val when object data internal companion in is as func let guard extension protocol defer nil self";

const languages: readonly Language[] = [
  {
    names: "ts tsx js jsx mjs cjs mts cts typescript javascript",
    keywords:
      "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let namespace never new null number object of private protected public readonly return satisfies set static string super switch symbol this throw true try type typeof undefined unknown using var void while with yield",
    ...cStyleWithBackticks,
  },
  {
    names: "py python py3",
    keywords:
      "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield",
    ...hashStyle,
    spans: [
      ['"""', '"""', stringStyle],
      ["'''", "'''", stringStyle],
    ],
  },
  {
    names: "go golang",
    keywords:
      "break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range return select struct switch true type var bool byte error float64 int int64 rune string uint any",
    ...cStyleWithBackticks,
  },
  {
    names: "rs rust",
    keywords:
      "as async await bool break const continue crate dyn else enum extern false fn for i32 i64 if impl in let loop match mod move mut pub ref return self Self static str String struct super trait true type u8 u32 u64 unsafe usize use where while",
    ...cStyle,
    quotes: '"',
  },
  { names: "c h cc cpp hpp cxx java cs csharp kt kotlin swift scala dart php zig proto", keywords: cKeywords, ...cStyle },
  {
    names: "sh bash zsh shell console fish dockerfile docker make makefile",
    keywords:
      "alias break case cd continue do done echo elif else esac eval exec exit export fi for function if in local read return select set shift source then trap unset until while FROM RUN COPY CMD ENV ARG WORKDIR ENTRYPOINT",
    ...hashStyle,
    extraTokens: /\$(?:\w+|\{[^}]*\}?|[@#?$!*-])/,
  },
  { names: "json jsonc json5", keywords: "true false null", ...cStyle, quotes: '"', extraTokens: /"(?:[^"\\]|\\.)*"(?=\s*:)/ },
  {
    names: "yaml yml toml ini conf properties env",
    keywords: "true false null yes no on off",
    ...hashStyle,
    extraTokens: /^\s*(?:- )?[\w."/-]+(?=\s*[:=])|^\s*\[.*\]\s*$/,
  },
  {
    names: "html xml svg vue svelte htm",
    keywords: "",
    spans: [["<!--", "-->", commentStyle]],
    quotes: `"'`,
    extraTokens: /<\/?[\w:-]+|\/?>/,
  },
  { names: "css scss less", keywords: "important", ...cStyle, extraTokens: /[@.#]?[\w-]+(?=\s*[:{,])/ },
  {
    names: "sql psql mysql sqlite",
    keywords:
      "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists false foreign from full group having if in index inner insert integer into is join key left like limit not null offset on or order outer primary references returning right rollback select set table text then true union unique update using values view when where with",
    comment: "--",
    spans: [blockComment],
    quotes: `"'`,
  },
  {
    names: "rb ruby pl perl lua r ex elixir",
    keywords:
      "alias and begin break class def defmodule do else elsif elseif end ensure false for function if in local module next nil not or redo require rescue retry return self sub super then true undef unless until use when while yield my",
    ...hashStyle,
  },
];

/** `openSpan` is the comment or string that continues on the next line. */
export type SyntaxState = { highlighter: Highlighter | null; openSpan: { end: string; style: TextStyle } | null };
type Highlighter = "diff" | { tokens: RegExp; keywords: ReadonlySet<string>; spans: NonNullable<Language["spans"]>; ignoresCase: boolean };

const highlighters = new Map<string, Highlighter>([
  ["diff", "diff"],
  ["patch", "diff"],
]);
for (const language of languages) {
  const highlighter = createHighlighter(language);
  for (const name of language.names.split(" ")) highlighters.set(name, highlighter);
}

/** A longer line has no colours: the patterns may read the rest of a line once for each of its characters. */
const maxLineChars = 1_000;

/** Finds a highlighter by the word after a fence, or by a file extension. Null if unknown: no colours. */
export function findHighlighter(name: string): Highlighter | null {
  return highlighters.get(name.toLowerCase().replace(/^[{.]+|[,}:].*$/g, "")) ?? null;
}

export function colorLine(line: string, syntax: SyntaxState): { runs: TextRun[]; syntax: SyntaxState } {
  const { highlighter } = syntax;
  if (highlighter === null || line.length > maxLineChars) return { runs: [{ text: line, style: plain }], syntax };
  if (highlighter === "diff") return { runs: [{ text: line, style: diffLineStyle(line) }], syntax };
  const runs: TextRun[] = [];
  let { openSpan } = syntax;
  let offset = 0;
  const push = (end: number, style: TextStyle) => {
    if (end > offset) runs.push({ text: line.slice(offset, end), style: style });
    offset = end;
  };
  while (offset < line.length) {
    if (openSpan !== null) {
      const end = line.indexOf(openSpan.end, offset);
      push(end < 0 ? line.length : end + openSpan.end.length, openSpan.style);
      if (end >= 0) openSpan = null;
      continue;
    }
    highlighter.tokens.lastIndex = offset;
    const match = highlighter.tokens.exec(line);
    if (match === null) break;
    push(match.index, plain);
    const span = match.groups?.["span"];
    if (span === undefined) push(match.index + match[0].length, tokenStyle(match.groups ?? {}, highlighter));
    else {
      const [, end = "", style = plain] = highlighter.spans.find(([begin]) => begin === span) ?? [];
      push(match.index + span.length, style);
      openSpan = { end, style };
    }
  }
  push(line.length, plain);
  return { runs, syntax: { highlighter, openSpan } };
}

export function diffLineStyle(line: string): TextStyle {
  if (/^(\+\+\+|---|diff |index )/.test(line)) return { bold: true };
  return line.startsWith("+") ? stringStyle : line.startsWith("-") ? removedStyle : line.startsWith("@@") ? valueStyle : plain;
}

function tokenStyle(groups: Record<string, string | undefined>, { keywords, ignoresCase }: Exclude<Highlighter, "diff">): TextStyle {
  if (groups["comment"] !== undefined) return commentStyle;
  if (groups["quoted"] !== undefined) return stringStyle;
  if (groups["extra"] !== undefined || groups["number"] !== undefined) return valueStyle;
  const word = groups["word"] ?? "";
  return keywords.has(ignoresCase ? word.toLowerCase() : word) ? keywordStyle : plain;
}

function createHighlighter({ names, keywords, comment, spans = [], quotes = "", extraTokens }: Language): Highlighter {
  const alternatives = [
    ...(spans.length === 0 ? [] : [`(?<span>${spans.map(([begin]) => RegExp.escape(begin)).join("|")})`]),
    ...(comment === undefined ? [] : [comment === "#" ? "(?<comment>(?<!\\S)#.*)" : `(?<comment>${RegExp.escape(comment)}.*)`]),
    ...(extraTokens === undefined ? [] : [`(?<extra>${extraTokens.source})`]),
    ...(quotes === "" ? [] : [`(?<quoted>${Array.from(quotes, (quote) => `${quote}(?:[^${quote}\\\\]|\\\\.)*(?:${quote}|$)`).join("|")})`]),
    String.raw`(?<number>(?<![\w.])(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b)`,
    String.raw`(?<word>[\p{L}_$][\p{L}\p{N}_$]*)`,
  ];
  const ignoresCase = names.startsWith("sql");
  return { tokens: new RegExp(alternatives.join("|"), "gu"), keywords: new Set(keywords.split(" ")), spans, ignoresCase };
}
