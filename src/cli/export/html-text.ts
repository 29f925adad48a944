// Text of a page as HTML. All of it is escaped. Terminal colours become classes, and code is highlighted.
import { ansiRuns, stripAnsi, type TextRun, type TextStyle } from "../../kit/text/ansi.ts";
import { colorLine, findHighlighter, type SyntaxState } from "../../kit/highlight/syntax.ts";

export function escaped(text: string): string {
  return Bun.escapeHTML(stripAnsi(text));
}

export function runsHtml(runs: readonly TextRun[]): string {
  return runs
    .map(({ text, style }) => {
      const { classes, styles } = attributesOf(style);
      if (classes === "" && styles === "") return Bun.escapeHTML(text);
      const classAttribute = classes === "" ? "" : ` class="${classes}"`;
      return `<span${classAttribute}${styles === "" ? "" : ` style="${styles}"`}>${Bun.escapeHTML(text)}</span>`;
    })
    .join("");
}

export function colored(text: string): string {
  return runsHtml(ansiRuns(text));
}

/** A run in the data of a folded output: its text, or its text with classes and styles. */
export type PageRun = string | [text: string, classes: string, styles: string];

export function pageRuns(runs: readonly TextRun[]): PageRun[] {
  return runs.map(({ text, style }) => {
    const { classes, styles } = attributesOf(style);
    return classes === "" && styles === "" ? text : [text, classes, styles];
  });
}

/** The style sheet has a class for each of the 16 colours; any other colour is a style of the element. */
function attributesOf({ color, background, ...style }: TextStyle): { classes: string; styles: string } {
  const names: string[] = (["bold", "dim", "italic", "underline", "inverse"] as const).filter((name) => style[name] === true);
  const styles: string[] = [];
  if (typeof color === "number") names.push(`c${color}`);
  else if (color !== undefined) styles.push(`color:${color}`);
  if (typeof background === "number") names.push(`b${background}`);
  else if (background !== undefined) styles.push(`background:${background}`);
  return { classes: names.join(" "), styles: styles.join(";") };
}

/** The runs of each line, highlighted by the name of a language or a file extension. */
export function codeLines(code: string, language: string): TextRun[][] {
  let syntax: SyntaxState = { highlighter: findHighlighter(language), openSpan: null };
  return stripAnsi(code)
    .split("\n")
    .map((line) => {
      const painted = colorLine(line, syntax);
      syntax = painted.syntax;
      return painted.runs;
    });
}

export function extensionOf(path: string): string {
  return /\.(\w+)$/.exec(path)?.[1] ?? "";
}

/** Shows HTML in the text as text, keeps only web links, and replaces external pictures by their description. */
export function markdownHtml(text: string): string {
  const html = Bun.markdown.html(stripAnsi(text), { noHtmlBlocks: true, noHtmlSpans: true });
  return html
    .replaceAll(/<img\b[^>]*?\balt="([^"]*)"[^>]*>/g, "$1")
    .replaceAll(/<img\b[^>]*>/g, "")
    .replaceAll(/<a\b[^>]*>/g, (tag) => {
      const target = /\bhref="(https?:\/\/[^"]*)"/.exec(tag)?.[1];
      return target === undefined ? "<a>" : `<a rel="noreferrer" href="${target}">`;
    })
    .replaceAll(/<pre><code class="language-([\w+#.-]{1,40})">([^<]*)<\/code><\/pre>/g, (_, language: string, code: string) => {
      const lines = codeLines(unescaped(code), language).map(runsHtml);
      return `<pre><code>${lines.join("\n")}</code></pre>`;
    });
}

const entities: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&#x27;": "'", "&amp;": "&" };

function unescaped(html: string): string {
  return html.replaceAll(/&(?:lt|gt|quot|#39|#x27|amp);/g, (entity) => entities[entity] ?? entity);
}
