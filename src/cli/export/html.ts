// Exports a tree as one page without scripts and requests. All text is escaped; tool output keeps its colours.
// The content security policy in the head blocks everything that would still load or run.
import { ansiRuns, type TextStyle, stripAnsi } from "../../kit/text/ansi.ts";
import { type ImageData, type Node, shortId } from "../../protocol/tree/node.ts";
import { type ExportBlock, imageUrl, type ToolBlock, toolSign, toolTexts } from "./blocks.ts";
import { branchTitle, type Document, type ExportNode, sectionsOf, tipLabel, treeFacts, timeText, titleOf } from "./document.ts";
import { filesSection } from "./file-changes.ts";
import { pageStyle } from "./html-style.ts";
import type { Segment } from "./segments.ts";

export async function* htmlDocument(document: Document): AsyncGenerator<string> {
  yield head(document);
  for (const { segment, nodes } of sectionsOf(document)) {
    yield sectionStart(segment);
    for await (const node of nodes) yield* article(node);
    yield `${branchLinks(segment)}</section>\n`;
  }
  yield filesHtml(document);
  yield "</main>\n</body>\n</html>\n";
}

const policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

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
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="skein">
<title>${title}</title>
<style>${pageStyle}</style>
</head>
<body>
<header><h1>${title}</h1><dl>${facts.join("")}</dl><nav>${tips.join("")}</nav></header>
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

function* article({ node, author, labels, hasHead, blocks }: ExportNode): Generator<string> {
  const marks = labels.map((label) => `<span class="label">${escaped(label)}</span>`).join("");
  const head = `<b>${escaped(author)}</b><span>${escaped(shortId(node.id))}</span><time>${timeText(node.at)}</time>${marks}`;
  yield `<article class="${escaped(node.author)}" id="n-${escaped(node.id)}">${hasHead ? `<div class="who">${head}</div>` : ""}`;
  for (const block of blocks) yield blockHtml(block, node);
  yield "</article>\n";
}

function blockHtml(block: ExportBlock, node: Node): string {
  switch (block.kind) {
    case "text":
      return node.author === "agent"
        ? `<div class="text">${markdown(block.text)}</div>`
        : `<div class="text typed">${colored(block.text.trim())}</div>`;
    case "thinking":
      return `<details><summary class="thinking">thinking</summary><div class="thinking">${escaped(block.text)}</div></details>`;
    case "image":
      return picture(block.image);
    case "data":
      return `<details open><summary>${escaped(block.title)}</summary><pre>${colored(block.text)}</pre></details>`;
    case "tool":
      return toolHtml(block);
  }
}

function filesHtml({ session, files }: Document): string {
  const section = filesSection(session, files);
  if (section === null) return "";
  const blocks = section.blocks.map((block) => {
    if (block.kind === "patch") return `<details><summary>diff</summary><pre>${escaped(block.text)}</pre></details>`;
    const title = block.title === null ? "" : `<p>${escaped(block.title)}</p>`;
    return `${title}<ul>${block.lines.map((line) => `<li><code>${escaped(line)}</code></li>`).join("")}</ul>`;
  });
  return `<section class="root" id="files"><h2>${escaped(section.title)}</h2>\n${blocks.join("\n")}</section>\n`;
}

const signClasses = { "→": "", "✗": ' class="bad"', "✓": ' class="ok"' };

function toolHtml(block: ToolBlock): string {
  const sign = toolSign(block);
  const argument = block.argument.length > 200 ? `${block.argument.slice(0, 200)}…` : block.argument;
  const summary = `<span${signClasses[sign]}>${sign}</span> <b>${escaped(block.name)}</b> <code>${escaped(argument.replaceAll(/\s+/g, " "))}</code>`;
  const texts = toolTexts(block).map((text) => `<pre>${colored(text)}</pre>`);
  const pictures = (block.result?.images ?? []).map(picture);
  return `<details><summary>${summary}</summary>${[...texts, ...pictures].join("")}</details>`;
}

/** Embeds a picture. Other data is shown as its type only. */
function picture(image: ImageData): string {
  const url = imageUrl(image);
  return url === null ? `<p>[image ${escaped(image.mime)}]</p>` : `<img alt="image" src="${url}">`;
}

/** Shows HTML in the text as text, keeps only web links, and replaces external pictures by their description. */
function markdown(text: string): string {
  const html = Bun.markdown.html(stripAnsi(text), { noHtmlBlocks: true, noHtmlSpans: true });
  return html
    .replaceAll(/<img\b[^>]*?\balt="([^"]*)"[^>]*>/g, "$1")
    .replaceAll(/<img\b[^>]*>/g, "")
    .replaceAll(/<a\b[^>]*>/g, (tag) => {
      const target = /\bhref="(https?:\/\/[^"]*)"/.exec(tag)?.[1];
      return target === undefined ? "<a>" : `<a rel="noreferrer" href="${target}">`;
    });
}

function colored(text: string): string {
  return ansiRuns(text)
    .map((run) => {
      const attributes = attributesOf(run.style);
      return attributes === "" ? escaped(run.text) : `<span${attributes}>${escaped(run.text)}</span>`;
    })
    .join("");
}

/** The style sheet has a class for each of the 16 colours; any other colour is a style of the element. */
function attributesOf({ color, background, ...style }: TextStyle): string {
  const names: string[] = (["bold", "dim", "italic", "underline", "inverse"] as const).filter((name) => style[name] === true);
  const styles: string[] = [];
  if (typeof color === "number") names.push(`c${color}`);
  else if (color !== undefined) styles.push(`color:${color}`);
  if (typeof background === "number") names.push(`b${background}`);
  else if (background !== undefined) styles.push(`background:${background}`);
  const classAttribute = names.length === 0 ? "" : ` class="${names.join(" ")}"`;
  return styles.length === 0 ? classAttribute : `${classAttribute} style="${styles.join(";")}"`;
}

function escaped(text: string): string {
  return Bun.escapeHTML(stripAnsi(text));
}
