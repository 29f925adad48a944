// Exports a tree as plain text and as Markdown, without colours and control characters.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { type ImageData, type Node, shortId } from "../../protocol/tree/node.ts";
import { type ExportBlock, imageUrl, toolSign, toolTexts } from "./blocks.ts";
import { branchTitle, type Document, sectionsOf, treeFacts, timeText, titleOf } from "./document.ts";
import { type FilesBlock, filesSection } from "./file-changes.ts";
import type { Segment } from "./segments.ts";

type TextFormat = {
  title: (text: string) => string;
  facts: (facts: [string, string][]) => string;
  branch: (segment: Segment, from: string) => string;
  node: (node: Node, author: string, labels: string[]) => string;
  block: (block: ExportBlock) => string;
  files: (title: string, blocks: FilesBlock[]) => string;
};

export const textDocument = (document: Document) => formatDocument(document, textFormat);
export const markdownDocument = (document: Document) => formatDocument(document, markdownFormat);

async function* formatDocument(document: Document, format: TextFormat): AsyncGenerator<string> {
  yield `${format.title(toOneLine(titleOf(document)))}\n\n${format.facts(treeFacts(document))}\n`;
  for (const { segment, nodes } of sectionsOf(document)) {
    if (segment.branches > 1) yield `\n${format.branch(segment, segment.from === null ? "the start" : shortId(segment.from.id))}\n`;
    for await (const { node, author, labels, hasHead, blocks } of nodes) {
      if (hasHead) yield `\n${format.node(node, toOneLine(author), labels.map(toOneLine))}\n`;
      for (const block of blocks) yield `\n${format.block(block)}\n`;
    }
  }
  const files = filesSection(document.session, document.files);
  if (files !== null) yield `\n${format.files(toOneLine(files.title), files.blocks)}\n`;
}

function toOneLine(text: string): string {
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
  facts: (facts) => facts.map(([name, value]) => `${name.padEnd(8)} ${toOneLine(value)}`).join("\n"),
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
        return `  [image ${toOneLine(block.image.mime)}]`;
      case "data":
        return `  ${toOneLine(block.title)}\n${indentText(block.text)}`;
      case "tool": {
        const head = `  ${toolSign(block)} ${toOneLine(block.name)} ${toOneLine(block.argument)}`.trimEnd();
        const pictures = (block.result?.images ?? []).map((image) => `    [image ${toOneLine(image.mime)}]`);
        return [head, ...toolTexts(block).map((text) => indentText(text)), ...pictures].join("\n");
      }
    }
  },
  files: (title, blocks) => {
    const blockText = (block: FilesBlock) => {
      if (block.kind === "patch") return indentText(block.text);
      const [head, indent] = block.title === null ? ["", "  "] : [`  ${block.title}\n`, "    "];
      return `${head}${block.lines.map((line) => indent + toOneLine(line)).join("\n")}`;
    };
    return [`${"-".repeat(72)}\n${title}`, ...blocks.map(blockText)].join("\n\n");
  },
};

const markdownFormat: TextFormat = {
  title: (text) => `# ${escaped(text)}`,
  facts: (facts) => facts.map(([name, value]) => `- ${name}: ${escaped(toOneLine(value))}`).join("\n"),
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
        return `**${escaped(toOneLine(block.title))}**\n\n${fenced(block.text)}`;
      case "tool": {
        const argument = toOneLine(block.argument);
        const head = `${toolSign(block)} **${escaped(toOneLine(block.name))}**${argument === "" ? "" : ` ${inlineCode(argument)}`}`;
        const pictures = (block.result?.images ?? []).map(picture);
        return [head, ...toolTexts(block).map((text) => fenced(text)), ...pictures].join("\n\n");
      }
    }
  },
  files: (title, blocks) => {
    const blockText = (block: FilesBlock) => {
      if (block.kind === "patch") return fenced(block.text, "diff");
      const head = block.title === null ? "" : `${block.title}\n\n`;
      return `${head}${block.lines.map((line) => `- ${escaped(toOneLine(line))}`).join("\n")}`;
    };
    return [`---\n\n## ${escaped(title)}`, ...blocks.map(blockText)].join("\n\n");
  },
};

function picture(image: ImageData): string {
  const url = imageUrl(image);
  return url === null ? `[image ${escaped(toOneLine(image.mime))}]` : `![image](${url})`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>#|]/g, String.raw`\$&`);
}

/** A fence that no line of the text can close. */
function fenced(text: string, language = ""): string {
  const clean = stripAnsi(text).replace(/\n+$/, "");
  const fence = "`".repeat(Math.max(3, longestTicks(clean) + 1));
  return `${fence}${language}\n${clean}\n${fence}`;
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
