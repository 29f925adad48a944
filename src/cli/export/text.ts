// Exports a tree as plain text and as Markdown, without colours and control characters.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { type Node, shortId } from "../../protocol/tree/node.ts";
import { type ExportBlock, blocksOf } from "./blocks.ts";
import { authorsOf, branchTitle, type Document, treeFacts, timeText, titleOf } from "./document.ts";
import { labelsOf, type Segment, segmentsOf, tipLabel } from "./segments.ts";

type TextFormat = {
  title: (text: string) => string;
  facts: (facts: [string, string][]) => string;
  branch: (segment: Segment, from: string) => string;
  node: (node: Node, author: string, labels: string[]) => string;
  block: (block: ExportBlock) => string;
};

export function textDocument(document: Document): AsyncGenerator<string> {
  return formatDocument(document, textFormat);
}

export function markdownDocument(document: Document): AsyncGenerator<string> {
  return formatDocument(document, markdownFormat);
}

async function* formatDocument(document: Document, format: TextFormat): AsyncGenerator<string> {
  const { view } = document;
  const labels = labelsOf(view);
  const authorOf = authorsOf(document);
  yield `${format.title(line(titleOf(document)))}\n\n${format.facts(treeFacts(document))}\n`;
  for (const segment of segmentsOf(view)) {
    if (segment.branches > 1) yield `\n${format.branch(segment, segment.from === null ? "the start" : shortId(segment.from.id))}\n`;
    for await (const { node, blocks } of blocksOf(segment.nodes, document.resolve)) {
      const names = (labels.get(node.id) ?? []).map((session) => line(tipLabel(session)));
      const hasHead = node.author !== "tool" || names.length > 0;
      if (blocks.length === 0 && names.length === 0) continue;
      if (hasHead) yield `\n${format.node(node, line(authorOf(node)), names)}\n`;
      for (const block of blocks) yield `\n${format.block(block)}\n`;
    }
  }
}

function line(text: string): string {
  return stripAnsi(text).replaceAll(/\s+/g, " ").trim();
}

function indentText(text: string, indent = "    "): string {
  return stripAnsi(text)
    .replace(/\n+$/, "")
    .split("\n")
    .map((row) => (row === "" ? "" : indent + row))
    .join("\n");
}

const textFormat: TextFormat = {
  title: (text) => `${text}\n${"=".repeat(Math.min(100, Bun.stringWidth(text)))}`,
  facts: (facts) => facts.map(([name, value]) => `${name.padEnd(8)} ${line(value)}`).join("\n"),
  branch: (segment, from) => `${"-".repeat(72)}\n${branchTitle(segment)}, from ${from}`,
  node: (node, author, labels) => {
    const marks = labels.map((label) => `  [${label}]`).join("");
    return `${author}  ${shortId(node.id)}  ${timeText(node.at)}${marks}`;
  },
  block: (block) => {
    switch (block.kind) {
      case "text":
        return indentText(block.text, "  ");
      case "thinking":
        return `  (thinking)\n${indentText(block.text)}`;
      case "image":
        return `  [image ${line(block.image.mime)}]`;
      case "data":
        return `  ${line(block.title)}\n${indentText(block.text)}`;
      case "tool": {
        const head = `  ${signOf(block)} ${line(block.name)} ${line(block.argument)}`.trimEnd();
        const pictures = (block.result?.images ?? []).map((image) => `    [image ${line(image.mime)}]`);
        return [head, ...toolTexts(block).map((text) => indentText(text)), ...pictures].join("\n");
      }
    }
  },
};

const markdownFormat: TextFormat = {
  title: (text) => `# ${escaped(text)}`,
  facts: (facts) => facts.map(([name, value]) => `- ${name}: ${escaped(line(value))}`).join("\n"),
  branch: (segment, from) => `---\n\n## ${branchTitle(segment)}, from \`${from}\``,
  node: (node, author, labels) => {
    const marks = labels.map((label) => ` **[${escaped(label)}]**`).join("");
    return `### ${escaped(author)} \`${shortId(node.id)}\`${marks}\n\n<sub>${timeText(node.at)}</sub>`;
  },
  block: (block) => {
    switch (block.kind) {
      case "text":
        return stripAnsi(block.text).trimEnd();
      case "thinking":
        return stripAnsi(block.text).trimEnd().replaceAll(/^/gm, "> ");
      case "image":
        return picture(block.image);
      case "data":
        return `**${escaped(line(block.title))}**\n\n${fenced(block.text)}`;
      case "tool": {
        const argument = line(block.argument);
        const head = `${signOf(block)} **${escaped(line(block.name))}**${argument === "" ? "" : ` ${inlineCode(argument)}`}`;
        const pictures = (block.result?.images ?? []).map(picture);
        return [head, ...toolTexts(block).map(fenced), ...pictures].join("\n\n");
      }
    }
  },
};

function picture({ mime, base64 }: { mime: string; base64: string }): string {
  if (!/^image\/[\w.+-]{1,40}$/.test(mime) || !/^[A-Za-z0-9+/=]*$/.test(base64)) return `[image ${escaped(line(mime))}]`;
  return `![image](data:${mime};base64,${base64})`;
}

function signOf(block: Extract<ExportBlock, { kind: "tool" }>): string {
  if (block.result === null) return "→";
  return block.result.isError ? "✗" : "✓";
}

function toolTexts({ input, result }: Extract<ExportBlock, { kind: "tool" }>): string[] {
  return [input, result?.display ?? null, result?.text ?? null].filter((text): text is string => text !== null && text.trim() !== "");
}

function escaped(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>#|]/g, String.raw`\$&`);
}

/** A fence that no line of the text can close. */
function fenced(text: string): string {
  const clean = stripAnsi(text).replace(/\n+$/, "");
  const fence = "`".repeat(Math.max(3, longestTicks(clean) + 1));
  return `${fence}\n${clean}\n${fence}`;
}

function inlineCode(text: string): string {
  const fence = "`".repeat(longestTicks(text) + 1);
  return fence.length === 1 ? `\`${text}\`` : `${fence} ${text} ${fence}`;
}

function longestTicks(text: string): number {
  let longest = 0;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  return longest;
}
