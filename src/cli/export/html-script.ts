// The script of an exported page. It shows folded outputs when they are opened, and searches the page.
// It creates text nodes only, never HTML, and reads nothing but the page.

export const pageScript = `
"use strict";
const articles = [...document.querySelectorAll("article")];
const box = document.getElementById("find");
const count = document.getElementById("found");

function dataOf(details) {
  const template = details.querySelector("template");
  return template === null ? [] : JSON.parse(template.content.textContent);
}

function textOf(data) {
  return data.map((part) => (part.runs ?? []).map((run) => (typeof run === "string" ? run : run[0])).join("")).join("\\n");
}

/** Builds the output of a folded block when it is opened for the first time. */
function fill(details) {
  if (details.dataset.filled || !details.querySelector("template")) return;
  details.dataset.filled = "yes";
  for (const part of dataOf(details)) {
    if (part.image) {
      const image = document.createElement("img");
      image.src = part.image;
      details.append(image);
      continue;
    }
    const pre = document.createElement("pre");
    for (const run of part.runs) {
      if (typeof run === "string") { pre.append(run); continue; }
      const span = document.createElement("span");
      span.textContent = run[0];
      span.className = run[1];
      if (run[2]) span.style.cssText = run[2];
      pre.append(span);
    }
    details.append(pre);
  }
}
document.addEventListener("toggle", (event) => { if (event.target.open) fill(event.target); }, true);

let texts = null;
let hits = [];
let current = -1;
let search = 0;

function shownText(article) {
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  let text = "";
  while (walker.nextNode()) text += walker.currentNode.data;
  return text;
}

/** Reads all texts once, in slices, so that the page stays responsive. Stops if another search has started. */
async function readTexts(id) {
  const read = [];
  let sliceEnd = performance.now() + 30;
  for (const article of articles) {
    const folded = [...article.querySelectorAll("details")].map((details) => textOf(dataOf(details))).join("\\n");
    read.push((shownText(article) + "\\n" + folded).toLowerCase());
    if (performance.now() < sliceEnd) continue;
    count.textContent = "reading " + Math.round((100 * read.length) / articles.length) + " %";
    await new Promise((done) => setTimeout(done));
    if (id !== search) return false;
    sliceEnd = performance.now() + 30;
  }
  texts = read;
  return true;
}

async function find() {
  const id = ++search;
  const query = box.value.trim().toLowerCase();
  if (query !== "" && texts === null && !(await readTexts(id))) return;
  const kept = hits[current];
  hits = query === "" ? [] : articles.filter((_, index) => texts[index].includes(query));
  const chosen = new Set(hits);
  document.body.classList.toggle("searching", query !== "");
  for (const article of articles) article.classList.toggle("hit", chosen.has(article));
  current = -1;
  if (query === "") { mark(""); count.textContent = ""; kept?.scrollIntoView({ block: "center" }); }
  else if (hits.length === 0) { mark(""); count.textContent = "nothing found"; }
  else go(0);
}

function go(index) {
  hits[current]?.classList.remove("current");
  current = (index + hits.length) % hits.length;
  const article = hits[current];
  const query = box.value.trim().toLowerCase();
  article.classList.add("current");
  for (const details of article.querySelectorAll("details"))
    if (!details.open && (textOf(dataOf(details)) + shownText(details)).toLowerCase().includes(query)) { fill(details); details.open = true; }
  count.textContent = current + 1 + " of " + hits.length.toLocaleString("en-US");
  mark(query);
  article.scrollIntoView({ block: "center" });
}

/** Colours the query in the hits around the current one. Old browsers show no colour. */
function mark(query) {
  if (!window.CSS?.highlights) return;
  CSS.highlights.delete("found");
  if (query === "") return;
  const ranges = [];
  for (const article of hits.slice(Math.max(0, current - 20), current + 20)) {
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode;
      const lower = text.data.toLowerCase();
      for (let at = lower.indexOf(query); at >= 0 && ranges.length < 2000; at = lower.indexOf(query, at + query.length)) {
        if (at + query.length > text.length) break;
        const range = new Range();
        range.setStart(text, at);
        range.setEnd(text, at + query.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

let timer = 0;
box.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(find, 150); });
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && hits.length > 0) go(current + (event.shiftKey ? -1 : 1));
  if (event.key === "Escape") { box.value = ""; void find(); box.blur(); }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === box) return;
  event.preventDefault();
  box.focus();
});
`;
