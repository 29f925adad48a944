// Markdown as elements of the page. Text only ever becomes text nodes, so it can't contain HTML of its own.
import { useMemo } from "preact/hooks";
import type { Inline } from "../text/inline.ts";
import { parseMarkdown, type MarkdownBlock } from "../text/markdown.ts";
import { showDirections } from "../text/plain-text.ts";
import { Code } from "./code.tsx";

/** A longer text is shown as plain text: parsing it would block the page. */
const maxChars = 400_000;

export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => (text.length > maxChars ? null : parseMarkdown(text)), [text]);
  return <div class="markdown">{blocks === null ? <pre class="code">{text}</pre> : <Blocks blocks={blocks} />}</div>;
}

function Blocks({ blocks }: { blocks: readonly MarkdownBlock[] }) {
  return (
    <>
      {blocks.map((block, index) => (
        <BlockElement key={index} block={block} />
      ))}
    </>
  );
}

function BlockElement({ block }: { block: MarkdownBlock }) {
  switch (block.kind) {
    case "paragraph":
      return (
        <p>
          <Inlines items={block.items} />
        </p>
      );
    case "heading":
      // The page has its own first two levels, so the text's levels begin with the third.
      return (
        <div class={`heading h${block.level}`} role="heading" aria-level={Math.min(6, block.level + 2)}>
          <Inlines items={block.items} />
        </div>
      );
    case "code":
      return <Code text={block.text} language={block.language} />;
    case "quote":
      return (
        <blockquote>
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case "list":
      return <List block={block} />;
    case "table":
      return <Table block={block} />;
    case "rule":
      return <hr />;
  }
}

function List({ block: { isOrdered, start, items } }: { block: Extract<MarkdownBlock, { kind: "list" }> }) {
  const rows = items.map(({ check, blocks }, index) => (
    <li key={index} class={check === null ? "" : "task"}>
      {check !== null && <span aria-label={check ? "done" : "open"}>{check ? "☑ " : "☐ "}</span>}
      <Blocks blocks={blocks} />
    </li>
  ));
  return isOrdered ? <ol start={start}>{rows}</ol> : <ul>{rows}</ul>;
}

function Table({ block: { head, rows } }: { block: Extract<MarkdownBlock, { kind: "table" }> }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="table">
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index} scope="col">
                <Inlines items={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>
                  <Inlines items={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Inlines({ items }: { items: readonly Inline[] }) {
  return <>{items.map((item, index) => inlineElement(item, index))}</>;
}

function inlineElement(item: Inline, key: number) {
  switch (item.kind) {
    case "text":
      return showDirections(item.text);
    case "code":
      return <code key={key}>{showDirections(item.text)}</code>;
    case "strong":
      return <strong key={key}>{<Inlines items={item.items} />}</strong>;
    case "emphasis":
      return <em key={key}>{<Inlines items={item.items} />}</em>;
    case "strike":
      return <s key={key}>{<Inlines items={item.items} />}</s>;
    case "link":
      return (
        <a key={key} href={item.href} target="_blank" rel="noopener noreferrer">
          <Inlines items={item.items} />
        </a>
      );
  }
}
