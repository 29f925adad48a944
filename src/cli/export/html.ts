// Exports a tree as one page without scripts and requests. All text is escaped; tool output keeps its colours.
// The content security policy in the head blocks everything that would still load or run.
import { ansiRuns, type TextStyle, stripAnsi } from "../../kit/text/ansi.ts";
import { type ImageData, type Node, shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { type ExportBlock, blocksOf } from "./blocks.ts";
import { authorsOf, branchTitle, type Document, treeFacts, timeText, titleOf } from "./document.ts";
import { pageStyle } from "./html-style.ts";
import { labelsOf, type Segment, segmentsOf, tipLabel } from "./segments.ts";

export async function* htmlDocument(document: Document): AsyncGenerator<string> {
  const { view } = document;
  const labels = labelsOf(view);
  const authorOf = authorsOf(document);
  yield head(document);
  for (const segment of segmentsOf(view)) {
    yield sectionStart(segment);
    for await (const { node, blocks } of blocksOf(segment.nodes, document.resolve)) {
      const sessions = labels.get(node.id) ?? [];
      if (blocks.length > 0 || sessions.length > 0) yield* article(node, authorOf(node), blocks, sessions);
    }
    yield `${branchLinks(segment)}</section>\n`;
  }
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
  const from = segment.from === null ? "the start" : `<a href="#n-${segment.from.id}">${shortId(segment.from.id)}</a>`;
  return `<section id="b-${segment.number}" style="margin-left: ${indent}rem"><h2>${branchTitle(segment)}, from ${from}</h2>\n`;
}

function branchLinks(segment: Segment): string {
  if (segment.next.length === 0) return "";
  const links = segment.next.map((number, index) => `<a href="#b-${number}">branch ${index + 1}</a>`);
  return `<p class="branches">continues in ${links.join("")}</p>`;
}

function* article(node: Node, author: string, blocks: ExportBlock[], sessions: Session[]): Generator<string> {
  const labels = sessions.map((session) => `<span class="label">${escaped(tipLabel(session))}</span>`).join("");
  const head = `<b>${escaped(author)}</b><span>${shortId(node.id)}</span><time>${timeText(node.at)}</time>${labels}`;
  const hasHead = node.author !== "tool" || sessions.length > 0;
  yield `<article class="${node.author}" id="n-${escaped(node.id)}">${hasHead ? `<div class="who">${head}</div>` : ""}`;
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

function toolHtml({ name, argument, input, result }: Extract<ExportBlock, { kind: "tool" }>): string {
  const sign = result === null ? "→" : result.isError ? '<span class="bad">✗</span>' : '<span class="ok">✓</span>';
  const short = argument.length > 200 ? `${argument.slice(0, 200)}…` : argument;
  const summary = `${sign} <b>${escaped(name)}</b> <code>${escaped(short.replaceAll(/\s+/g, " "))}</code>`;
  const texts = [input, result?.display ?? null, result?.text ?? null].filter((text): text is string => text !== null && text !== "");
  const body = texts.map((text) => `<pre>${colored(text)}</pre>`).join("") + (result?.images ?? []).map(picture).join("");
  return `<details><summary>${summary}</summary>${body}</details>`;
}

/** Embeds a picture. Other data is shown as its type only. */
function picture({ mime, base64 }: ImageData): string {
  if (!/^image\/[\w.+-]{1,40}$/.test(mime) || !/^[A-Za-z0-9+/=]*$/.test(base64)) return `<p>[image ${escaped(mime)}]</p>`;
  return `<img alt="image" src="data:${mime};base64,${base64}">`;
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
      const { names, styles } = cssOf(run.style);
      if (names.length + styles.length === 0) return escaped(run.text);
      const attributes = [
        ...(names.length === 0 ? [] : [`class="${names.join(" ")}"`]),
        ...(styles.length === 0 ? [] : [`style="${styles.join(";")}"`]),
      ];
      return `<span ${attributes.join(" ")}>${escaped(run.text)}</span>`;
    })
    .join("");
}

function cssOf(style: TextStyle): { names: string[]; styles: string[] } {
  const names: string[] = (["bold", "dim", "italic", "underline", "inverse"] as const).filter((name) => style[name] === true);
  const styles: string[] = [];
  if (typeof style.color === "number") names.push(`c${style.color}`);
  else if (style.color !== undefined) styles.push(`color:${style.color}`);
  if (typeof style.background === "number") names.push(`b${style.background}`);
  else if (style.background !== undefined) styles.push(`background:${style.background}`);
  return { names, styles };
}

function escaped(text: string): string {
  return Bun.escapeHTML(stripAnsi(text));
}
