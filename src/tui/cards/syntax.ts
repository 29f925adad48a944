// Highlights code: comments, strings, numbers and keywords, from one table of languages. Each line is coloured alone; the
// only state is a comment or string that is still open from the line before.
import type { TextStyle, TextRun } from "../../kit/text/ansi.ts";
import { bad, code, faint, good, marker } from "../layout/styles.ts";

type Language = {
  names: string;
  words: string;
  /** Start of a comment that ends with the line. */
  comment?: string;
  /** Comments and strings of several lines: start, end, style. */
  spans?: readonly (readonly [begin: string, end: string, style: TextStyle])[];
  quotes?: string;
  /** Other highlighted tokens of the language: tags, keys, variables. */
  also?: RegExp;
};

const slashes = { comment: "//", spans: [["/*", "*/", faint]] as const, quotes: `"'` };
const cWords =
  "auto break case catch char class const continue default delete do double else enum extern false final float for foreach goto if implements import inline int interface long namespace new null nullptr operator override package private protected public return short signed sizeof static string struct super switch template this throw throws true try typedef typename union unsigned using var virtual void volatile while bool internal readonly sealed async await get set fun val when object data internal companion in is as func let guard extension protocol defer nil self";

const languages: readonly Language[] = [
  {
    names: "ts tsx js jsx mjs cjs mts cts typescript javascript",
    words:
      "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let namespace never new null number object of private protected public readonly return satisfies set static string super switch symbol this throw true try type typeof undefined unknown using var void while with yield",
    ...slashes,
    spans: [
      ["/*", "*/", faint],
      ["`", "`", good],
    ],
  },
  {
    names: "py python py3",
    words:
      "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield",
    comment: "#",
    spans: [
      ['"""', '"""', good],
      ["'''", "'''", good],
    ],
    quotes: `"'`,
  },
  {
    names: "go golang",
    words:
      "break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range return select struct switch true type var bool byte error float64 int int64 rune string uint any",
    ...slashes,
    spans: [
      ["/*", "*/", faint],
      ["`", "`", good],
    ],
  },
  {
    names: "rs rust",
    words:
      "as async await bool break const continue crate dyn else enum extern false fn for i32 i64 if impl in let loop match mod move mut pub ref return self Self static str String struct super trait true type u8 u32 u64 unsafe usize use where while",
    ...slashes,
    quotes: '"',
  },
  { names: "c h cc cpp hpp cxx java cs csharp kt kotlin swift scala dart php zig proto", words: cWords, ...slashes },
  {
    names: "sh bash zsh shell console fish dockerfile docker make makefile",
    words:
      "alias break case cd continue do done echo elif else esac eval exec exit export fi for function if in local read return select set shift source then trap unset until while FROM RUN COPY CMD ENV ARG WORKDIR ENTRYPOINT",
    comment: "#",
    quotes: `"'`,
    also: /\$(?:\w+|\{[^}]*\}?|[@#?$!*-])/,
  },
  { names: "json jsonc json5", words: "true false null", ...slashes, quotes: '"', also: /"(?:[^"\\]|\\.)*"(?=\s*:)/ },
  {
    names: "yaml yml toml ini conf properties env",
    words: "true false null yes no on off",
    comment: "#",
    quotes: `"'`,
    also: /^\s*(?:- )?[\w."/-]+(?=\s*[:=])|^\s*\[.*\]\s*$/,
  },
  { names: "html xml svg vue svelte htm", words: "", spans: [["<!--", "-->", faint]], quotes: `"'`, also: /<\/?[\w:-]+|\/?>/ },
  { names: "css scss less", words: "important", ...slashes, also: /[@.#]?[\w-]+(?=\s*[:{,])/ },
  {
    names: "sql psql mysql sqlite",
    words:
      "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists false foreign from full group having if in index inner insert integer into is join key left like limit not null offset on or order outer primary references returning right rollback select set table text then true union unique update using values view when where with",
    comment: "--",
    spans: [["/*", "*/", faint]],
    quotes: `"'`,
  },
  {
    names: "rb ruby pl perl lua r ex elixir",
    words:
      "alias and begin break class def defmodule do else elsif elseif end ensure false for function if in local module next nil not or redo require rescue retry return self sub super then true undef unless until use when while yield my",
    comment: "#",
    quotes: `"'`,
  },
];

/** The language, and the comment or string that is open at the end of the line. */
export type SyntaxState = { language: Highlighter | null; until: { end: string; style: TextStyle } | null };
type Highlighter = "diff" | { tokens: RegExp; words: ReadonlySet<string>; spans: NonNullable<Language["spans"]>; isCaseless: boolean };

const highlighters = new Map<string, Highlighter>([
  ["diff", "diff"],
  ["patch", "diff"],
]);
for (const language of languages) {
  const highlighter = createHighlighter(language);
  for (const name of language.names.split(" ")) highlighters.set(name, highlighter);
}

/** Finds a language by the word after a fence, or by a file extension. Null if unknown: no colours. */
export function findLanguage(name: string): Highlighter | null {
  return highlighters.get(name.toLowerCase().replace(/^[{.]+|[,}:].*$/g, "")) ?? null;
}

export function colorLine(line: string, painting: SyntaxState): { runs: TextRun[]; painting: SyntaxState } {
  const { language } = painting;
  if (language === null) return { runs: [{ text: line, style: plain }], painting };
  if (language === "diff") return { runs: [{ text: line, style: diffLineStyle(line) }], painting };
  const runs: TextRun[] = [];
  let { until } = painting;
  let offset = 0;
  const push = (end: number, style: TextStyle) => {
    if (end > offset) runs.push({ text: line.slice(offset, end), style });
    offset = end;
  };
  while (offset < line.length) {
    if (until !== null) {
      const end = line.indexOf(until.end, offset);
      push(end < 0 ? line.length : end + until.end.length, until.style);
      if (end >= 0) until = null;
      continue;
    }
    language.tokens.lastIndex = offset;
    const match = language.tokens.exec(line);
    if (match === null) break;
    push(match.index, plain);
    const span = match.groups?.["span"];
    if (span === undefined) push(match.index + match[0].length, tokenStyle(match.groups ?? {}, language));
    else {
      const [, end = "", style = plain] = language.spans.find(([begin]) => begin === span) ?? [];
      push(match.index + span.length, style);
      until = { end, style };
    }
  }
  push(line.length, plain);
  return { runs, painting: { language, until } };
}

export function diffLineStyle(line: string): TextStyle {
  if (/^(\+\+\+|---|diff |index )/.test(line)) return { bold: true };
  return line.startsWith("+") ? good : line.startsWith("-") ? bad : line.startsWith("@@") ? code : plain;
}

const plain: TextStyle = {};

function tokenStyle(groups: Record<string, string | undefined>, { words, isCaseless }: Exclude<Highlighter, "diff">): TextStyle {
  if (groups["comment"] !== undefined) return faint;
  if (groups["quoted"] !== undefined) return good;
  if (groups["also"] !== undefined) return code;
  if (groups["number"] !== undefined) return code;
  const word = groups["word"] ?? "";
  return words.has(isCaseless ? word.toLowerCase() : word) ? marker : plain;
}

function createHighlighter({ names, words, comment, spans = [], quotes = "", also }: Language): Highlighter {
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
  const parts = [
    ...(spans.length === 0 ? [] : [`(?<span>${spans.map(([begin]) => escaped(begin)).join("|")})`]),
    ...(comment === undefined ? [] : [comment === "#" ? "(?<comment>(?<!\\S)#.*)" : `(?<comment>${escaped(comment)}.*)`]),
    ...(also === undefined ? [] : [`(?<also>${also.source})`]),
    ...(quotes === "" ? [] : [`(?<quoted>${Array.from(quotes, (quote) => `${quote}(?:[^${quote}\\\\]|\\\\.)*(?:${quote}|$)`).join("|")})`]),
    String.raw`(?<number>(?<![\w.])(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b)`,
    String.raw`(?<word>[\p{L}_$][\p{L}\p{N}_$]*)`,
  ];
  const isCaseless = names.startsWith("sql");
  return { tokens: new RegExp(parts.join("|"), "gu"), words: new Set(words.split(" ")), spans, isCaseless };
}
