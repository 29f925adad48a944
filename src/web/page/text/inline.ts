// Inline Markdown as data: code, emphasis, links. Everything else stays text, so that nothing of a model's text can become
// HTML. Each character is read a bounded number of times.

export type Inline =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "emphasis" | "strike"; items: Inline[] }
  | { kind: "link"; href: string; items: Inline[] };

const marks: readonly [mark: string, kind: "strong" | "emphasis" | "strike"][] = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "strike"],
  ["*", "emphasis"],
  ["_", "emphasis"],
];

const maxDepth = 6;

export function parseInline(text: string, depth = 0): Inline[] {
  const items: Inline[] = [];
  let plain = "";
  const push = (item: Inline) => {
    if (plain !== "") items.push({ kind: "text", text: plain });
    plain = "";
    items.push(item);
  };
  for (let index = 0; index < text.length;) {
    const found = depth < maxDepth ? readItem(text, index, depth) : null;
    if (found !== null) push(found.item);
    else plain += text[index];
    index = found?.end ?? index + 1;
  }
  if (plain !== "") items.push({ kind: "text", text: plain });
  return items;
}

type Found = { item: Inline; end: number };

function readItem(text: string, index: number, depth: number): Found | null {
  switch (text[index]) {
    case "`":
      return readCode(text, index);
    case "\\":
      return /[\\`*_~[\]()#+.!|<>-]/.test(text[index + 1] ?? "")
        ? { item: { kind: "text", text: text[index + 1]! }, end: index + 2 }
        : null;
    case "[":
    case "!":
      return readLink(text, index, depth);
    case "<":
    case "h":
    case "m":
      return readAddress(text, index);
    case "*":
    case "_":
    case "~":
      return readEmphasis(text, index, depth);
    default:
      return null;
  }
}

function readCode(text: string, index: number): Found | null {
  const [ticks = "`"] = /^`+/.exec(text.slice(index, index + 20)) ?? [];
  const end = text.indexOf(ticks, index + ticks.length);
  if (end < 0 || end - index > 2_000) return null;
  return { item: { kind: "code", text: text.slice(index + ticks.length, end).replace(/^ (.+) $/, "$1") }, end: end + ticks.length };
}

/** `[text](address)`. A picture of another place is not loaded: its description becomes the link. */
function readLink(text: string, index: number, depth: number): Found | null {
  const match = /^!?\[([^\]\n]{0,500})\]\(\s*<?([^()\s>]{0,2000}(?:\([^()\s]{0,500}\)[^()\s>]{0,500})?)>?(?:\s+"[^"\n]{0,200}")?\s*\)/.exec(
    text.slice(index, index + 4_000),
  );
  if (match === null) return null;
  const [whole, label = "", address = ""] = match;
  const href = safeAddress(address);
  const items = parseInline(label === "" ? address : label, depth + 1);
  // An address that is not safe is shown as it was written.
  const item: Inline = href === null ? { kind: "text", text: whole } : { kind: "link", href, items };
  return { item, end: index + whole.length };
}

function readAddress(text: string, index: number): Found | null {
  if (index > 0 && /[\w/]/.test(text[index - 1]!)) return null;
  const match = /^<?((?:https?:\/\/|mailto:)[^\s<>"'`]{1,2000})>?/.exec(text.slice(index, index + 2_010));
  if (match === null) return null;
  const address = text[index] === "<" ? match[1]! : match[1]!.replace(/[.,;:!?)\]}*_]+$/, "");
  const href = safeAddress(address);
  if (href === null) return null;
  const length = text[index] === "<" ? match[0].length : address.length;
  return { item: { kind: "link", href, items: [{ kind: "text", text: address }] }, end: index + length };
}

function readEmphasis(text: string, index: number, depth: number): Found | null {
  for (const [mark, kind] of marks) {
    if (!text.startsWith(mark, index) || /\s/.test(text[index + mark.length] ?? " ")) continue;
    if (mark.startsWith("_") && /\w/.test(text[index - 1] ?? "")) continue;
    const end = closingMark(text, mark, index + mark.length);
    if (end < 0) continue;
    return { item: { kind, items: parseInline(text.slice(index + mark.length, end), depth + 1) }, end: end + mark.length };
  }
  return null;
}

const maxEmphasis = 1_000;

function closingMark(text: string, mark: string, from: number): number {
  const limit = Math.min(text.length, from + maxEmphasis);
  for (let end = text.indexOf(mark, from + 1); end >= 0 && end < limit; end = text.indexOf(mark, end + 1)) {
    const isPartOfLonger = mark.length === 1 && (text[end + 1] === mark || text[end - 1] === mark);
    if (!/\s/.test(text[end - 1]!) && !isPartOfLonger && !(mark.startsWith("_") && /\w/.test(text[end + mark.length] ?? ""))) return end;
  }
  return -1;
}

/** Only addresses that a click can't turn into a script. */
export function safeAddress(address: string): string | null {
  const url = URL.parse(address);
  return url !== null && ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
}
