// Exports a tree as one page that makes no request: a map, then every branch. All text is escaped; tool output keeps its
// colours. The content security policy in the head allows one script, by its hash, and blocks everything else.
import { ansiRuns, type TextRun } from "../../kit/text/ansi.ts";
import { type ImageData, type Node, shortId } from "../../protocol/tree/node.ts";
import { type ExportBlock, imageUrl, type ToolBlock, toolSign, toolTexts } from "./blocks.ts";
import { branchTitle, type Document, type ExportNode, sectionsOf, tipLabel, treeFacts, timeText, titleOf } from "./document.ts";
import { filesSection } from "./file-changes.ts";
import { diffHtml, diffOf, isShort, patchHtml } from "./html-diff.ts";
import { mapHtml } from "./html-map.ts";
import { pageScript } from "./html-script.ts";
import { pageStyle } from "./html-style.ts";
import { codeLines, colored, escaped, extensionOf, markdownHtml, pageRuns, type PageRun } from "./html-text.ts";
import type { Segment } from "./segments.ts";

/** In a larger tree, files that were read have no colours, which triple their size, and a browser skips hidden chunks. */
const maxSmallNodes = 2_000;

/** A browser lays out only the chunks on the screen. Without chunks, 30,000 nodes took 76 s to load. */
const chunkNodes = 100;

export async function* htmlDocument(document: Document): AsyncGenerator<string> {
  const isSmall = document.view.nodes.length <= maxSmallNodes;
  const chunkStart = isSmall ? "<div>" : '<div class="chunk">';
  yield head(document);
  for (const { segment, nodes } of sectionsOf(document)) {
    yield sectionStart(segment);
    let count = 0;
    for await (const node of nodes) {
      if (count % chunkNodes === 0) yield `${count === 0 ? "" : "</div>"}${chunkStart}\n`;
      count += 1;
      yield* article(node, isSmall);
    }
    yield `${count === 0 ? "" : "</div>"}${branchLinks(segment)}</section>\n`;
  }
  yield filesHtml(document);
  yield `</main>\n<script>${pageScript}</script>\n</body>\n</html>\n`;
}

function contentPolicy(): string {
  const hash = new Bun.CryptoHasher("sha256").update(pageScript).digest("base64");
  return `default-src 'none'; script-src 'sha256-${hash}'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`;
}

function head(document: Document): string {
  const title = escaped(titleOf(document));
  const facts = treeFacts(document).map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`);
  const tips = document.view.sessions
    .filter((session) => session.tip !== null)
    .map((session) => `<a class="label" href="#n-${escaped(session.tip ?? "")}">${escaped(tipLabel(session))}</a>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentPolicy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="skein">
<title>${title}</title>
<style>${pageStyle}</style>
</head>
<body>
<header><h1>${title}</h1><dl>${facts.join("")}</dl><nav>${tips.join("")}</nav>${mapHtml(document)}</header>
<div class="bar"><input id="find" type="search" placeholder="search messages and outputs ( / )" aria-label="search"><output id="found"></output></div>
<noscript><p class="bar">Outputs open and the search works only with JavaScript. The Markdown export has all outputs as text.</p></noscript>
<main>
`;
}

function sectionStart(segment: Segment): string {
  if (segment.branches === 1) return `<section class="root" id="b-${segment.number}">\n`;
  const indent = Math.min(segment.depth, 8) * 0.75;
  const from = segment.from === null ? "the start" : `<a href="#n-${escaped(segment.from.id)}">${escaped(shortId(segment.from.id))}</a>`;
  return `<section id="b-${segment.number}" style="margin-left: ${indent}rem"><h2>${branchTitle(segment)}, from ${from}</h2>\n`;
}

function branchLinks(segment: Segment): string {
  if (segment.next.length === 0) return "";
  const links = segment.next.map((number, index) => `<a href="#b-${number}">branch ${index + 1}</a>`);
  return `<p class="branches">continues in ${links.join("")}</p>`;
}

function* article({ node, author, labels, hasHead, blocks }: ExportNode, highlightsFiles: boolean): Generator<string> {
  const marks = labels.map((label) => `<span class="label">${escaped(label)}</span>`).join("");
  const head = `<b>${escaped(author)}</b><span>${escaped(shortId(node.id))}</span><time>${timeText(node.at)}</time>${marks}`;
  yield `<article class="${escaped(node.author)}" id="n-${escaped(node.id)}">${hasHead ? `<div class="who">${head}</div>` : ""}`;
  for (const block of blocks) yield blockHtml(block, node, highlightsFiles);
  yield "</article>\n";
}

function blockHtml(block: ExportBlock, node: Node, highlightsFiles: boolean): string {
  switch (block.kind) {
    case "text":
      return node.author === "agent"
        ? `<div class="text">${markdownHtml(block.text)}</div>`
        : `<div class="text typed">${colored(block.text.trim())}</div>`;
    case "thinking":
      return `<details><summary class="thinking">thinking</summary><div class="thinking">${escaped(block.text)}</div></details>`;
    case "image":
      return picture(block.image);
    case "data":
      return `<details open><summary>${escaped(block.title)}</summary><pre>${colored(block.text)}</pre></details>`;
    case "tool":
      return toolHtml(block, highlightsFiles);
  }
}

function filesHtml({ session, files }: Document): string {
  const section = filesSection(session, files);
  if (section === null) return "";
  const blocks = section.blocks.map((block) => {
    if (block.kind === "patch") return patchHtml(block.text);
    const title = block.title === null ? "" : `<p>${escaped(block.title)}</p>`;
    return `${title}<ul>${block.lines.map((line) => `<li><code>${escaped(line)}</code></li>`).join("")}</ul>`;
  });
  return `<section class="root" id="files"><h2>${escaped(section.title)}</h2>\n${blocks.join("\n")}</section>\n`;
}

const signClasses = { "→": "", "✗": ' class="bad"', "✓": ' class="ok"' };

/** A call in one line. A diff is shown below it, any other output is data that is shown when the line is opened. */
function toolHtml(block: ToolBlock, highlightsFiles: boolean): string {
  const sign = toolSign(block);
  const path = block.input?.["file_path"];
  const argument = typeof path === "string" ? path : block.argument;
  const short = (argument.length > 200 ? `${argument.slice(0, 200)}…` : argument).replaceAll(/\s+/g, " ");
  const summary = `<span${signClasses[sign]}>${sign}</span> <b>${escaped(block.name)}</b> <code>${escaped(short)}</code>`;
  const diff = diffOf(block);
  if (diff !== null && isShort(diff)) return `<details open><summary>${summary}</summary>${diffHtml(diff)}</details>`;
  const language = highlightsFiles && /^read/i.test(block.name) && block.result?.isError === false ? extensionOf(argument) : "";
  const outputs = (diff === null ? toolTexts(block) : [diff]).map((text) => ({
    runs: outputRuns(text, diff === null ? language : "diff"),
  }));
  const images = (block.result?.images ?? []).map(imageUrl).filter((url) => url !== null);
  const others = (block.result?.images ?? []).filter((image) => imageUrl(image) === null).map(picture);
  const data = [...outputs, ...images.map((image) => ({ image }))];
  if (data.length === 0 && others.length === 0) return `<div class="call">${summary}</div>`;
  return `<details><summary>${summary} <small>${sizeText(block)}</small></summary>${others.join("")}${dataHtml(data)}</details>`;
}

function outputRuns(text: string, language: string): PageRun[] {
  if (language === "") return pageRuns(ansiRuns(text));
  const lines = codeLines(text, language);
  return pageRuns(lines.flatMap((runs, index): TextRun[] => (index === 0 ? runs : [{ text: "\n", style: {} }, ...runs])));
}

function sizeText({ result }: ToolBlock): string {
  const text = result?.text.trim() ?? "";
  if (text === "") return "";
  const lines = text.split("\n").length;
  return lines === 1 ? escaped(text.slice(0, 80)) : `${lines.toLocaleString("en-US")} lines`;
}

/** Data as inert text. It has no `<` and no `&`, so that no text in it is read as HTML. A script element would load slower. */
function dataHtml(data: ({ runs: PageRun[] } | { image: string })[]): string {
  const json = JSON.stringify(data)
    .replaceAll("<", String.raw`\u003c`)
    .replaceAll("&", String.raw`\u0026`);
  return `<template>${json}</template>`;
}

/** Embeds a picture. Other data is shown as its type only. */
function picture(image: ImageData): string {
  const url = imageUrl(image);
  return url === null ? `<p>[image ${escaped(image.mime)}]</p>` : `<img alt="image" src="${url}">`;
}
