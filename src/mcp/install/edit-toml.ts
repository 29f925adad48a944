// Changes the pairs of one table, `[servers.name]`, in the text of a TOML file, line by line, and keeps all other lines
// as they are. What is written in another way (inline, dotted) it does not touch: the caller compares what came out.
import type { TextEditor } from "./install.ts";

/** One header or one pair, with the lines it takes; `to` is the first line after it. */
type Statement = { from: number; to: number; table: string[] | null; key: string | null };

export function tomlEditor(): TextEditor {
  return {
    read: (text) => Bun.TOML.parse(text),
    set(text, path, value) {
      const eol = text.includes("\r\n") ? "\r\n" : "\n";
      // A table is given whole when it is not there yet.
      if (isTable(value)) return `${text}${gapAfter(text, eol)}${tableText(path, value).replaceAll("\n", eol)}`;
      return withPair(text, path.slice(0, -1), path.at(-1)!, value);
    },
    take: (text, path) => withoutTable(text, path),
  };
}

function withPair(text: string, table: readonly string[], key: string, value: unknown): string {
  const lines = text.split("\n");
  const block = blockOf(statementsOf(lines), table);
  const last = block.at(-1);
  if (last === undefined) return text;
  const { from, to } = block.find((statement) => statement.key === key) ?? { from: last.to, to: last.to };
  const remark = to === from ? "" : remarkIn(lines[to - 1]!);
  const end = lines[last.from]!.endsWith("\r") ? "\r" : "";
  return lines.toSpliced(from, to - from, `${pairText([key, value])}${remark}${end}`).join("\n");
}

/** The comment at the end of a pair's last line: without it the line says the same. */
function remarkIn(line: string): string {
  const whole = parsed([line]);
  const starts = [...line.matchAll(/\s*#/g)].map(({ index }) => index);
  const at = starts.find((start) => whole !== null && Bun.deepEquals(parsed([line.slice(0, start)]), whole));
  return at === undefined ? "" : line.slice(at).trimEnd();
}

/** The table and those below it, each with the blank lines before it; comments after the last pair stay. */
function withoutTable(text: string, path: readonly string[]): string {
  const lines = text.split("\n");
  const statements = statementsOf(lines);
  const isOurs = ({ table }: Statement) => table !== null && path.every((word, at) => table[at] === word);
  for (const header of statements.filter(isOurs).toReversed()) {
    const end = blockOf(statements, header.table!).at(-1)!.to;
    let from = header.from;
    while (from > 0 && lines[from - 1]!.trim() === "") from -= 1;
    lines.splice(from, end - from);
  }
  const rest = lines.join("\n");
  return rest === "" || rest.endsWith("\n") || !text.endsWith("\n") ? rest : `${rest}\n`;
}

/** A header and the pairs up to the next header. */
function blockOf(statements: readonly Statement[], table: readonly string[]): Statement[] {
  const from = statements.findIndex((statement) => Bun.deepEquals(statement.table, table));
  if (from < 0) return [];
  const next = statements.findIndex((statement, at) => at > from && statement.table !== null);
  return statements.slice(from, next < 0 ? undefined : next);
}

/** A statement is complete when the parser takes its lines by themselves. */
function statementsOf(lines: readonly string[]): Statement[] {
  const statements: Statement[] = [];
  for (let from = 0; from < lines.length;) {
    if (/^\s*(#|$)/.test(lines[from]!)) {
      from += 1;
      continue;
    }
    let to = from + 1;
    let value = parsed(lines.slice(from, to));
    while (value === null && to < lines.length) value = parsed(lines.slice(from, (to += 1)));
    const isHeader = /^\s*\[/.test(lines[from]!);
    const path = value === null ? [] : onlyPath(value);
    statements.push({ from, to, table: isHeader ? path : null, key: isHeader ? null : (path[0] ?? null) });
    from = to;
  }
  return statements;
}

function parsed(lines: readonly string[]): Record<string, unknown> | null {
  try {
    return Bun.TOML.parse(`${lines.join("\n")}\n`) as Record<string, unknown>;
  } catch {
    return null; // goes on in the next line
  }
}

/** Of `[a.b]` a and b. */
function onlyPath(value: unknown): string[] {
  const [only] = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  return only === undefined ? [] : [only[0], ...onlyPath(only[1])];
}

function tableText(path: readonly string[], table: Record<string, unknown>): string {
  const [tables, pairs] = [true, false].map((wanted) => Object.entries(table).filter(([, value]) => isTable(value) === wanted));
  const below = tables!.map(([key, value]) => `\n${tableText([...path, key], value as Record<string, unknown>)}`);
  return [`[${path.map(keyText).join(".")}]\n`, ...pairs!.map((pair) => `${pairText(pair)}\n`), ...below].join("");
}

function pairText([key, value]: [string, unknown]): string {
  return `${keyText(key)} = ${Array.isArray(value) ? `[${value.map((word) => JSON.stringify(word)).join(", ")}]` : JSON.stringify(value)}`;
}

function keyText(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
}

function gapAfter(text: string, eol: string): string {
  if (text === "" || text.endsWith(`${eol}${eol}`)) return "";
  return text.endsWith(eol) ? eol : `${eol}${eol}`;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
