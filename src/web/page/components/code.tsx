// Highlighted code. The highlighter's colours of a terminal become classes of the stylesheet.
import { colorLine, findHighlighter, type SyntaxState } from "../../../kit/highlight/syntax.ts";
import { showDirections } from "../text/plain-text.ts";

const maxHighlightedChars = 100_000;

export function Code({ text, language }: { text: string; language: string }) {
  const shown = showDirections(text);
  return (
    <pre class="code" tabIndex={0} aria-label={language === "" ? "code" : `code, ${language}`}>
      <code>{shown.length > maxHighlightedChars ? shown : highlightedLines(shown, language)}</code>
    </pre>
  );
}

function highlightedLines(text: string, language: string) {
  let syntax: SyntaxState = { highlighter: findHighlighter(language), openSpan: null };
  if (syntax.highlighter === null) return text;
  return text.split("\n").map((line, index) => {
    const painted = colorLine(line, syntax);
    syntax = painted.syntax;
    return (
      <>
        {index > 0 && "\n"}
        {painted.runs.map(({ text: run, style }) => {
          const name = `${style.dim === true ? "dim" : ""}${typeof style.color === "number" ? `c${style.color}` : ""}${style.bold === true ? " bold" : ""}`;
          return name === "" ? run : <span class={name}>{run}</span>;
        })}
      </>
    );
  });
}
