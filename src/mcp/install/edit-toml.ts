// Changes the pairs of one table, `[servers.name]`, in TOML text, line by line, and keeps all other lines. Does not handle
// inline tables or dotted keys: the caller compares the parsed result and refuses those.
import { isRecord } from "../../kit/text/json.ts";
import type { TextEditor } from "./install.ts";

/** One header or one pair, from line `from` up to but not including line `to`. */
type Statement = { from: number; to: number; table: string[] | null; key: string | null };

export function tomlEditor(): TextEditor {
  return {
    read: (text) => Bun.TOML.parse(text),
    set(text, path, value) {
      const eol = text.includes("\r\n") ? "\r\n" : "\n";
      // A new table is appended as a whole.
      if (isRecord(value)) return `${text}${gapAfter(text, eol)}${tableText(path, value).replaceAll("\n", eol)}`;
      return withPair(text, path.slice(0, -1), [path.at(-1)!, value]);
    },
    remove: (text, path) => withoutTable(text, path),
  };
}

function withPair(text: string, table: readonly string[], [key, value]: [string, unknown]): string {
  const lines = text.split("\n");
  const block = blockOf(statementsOf(lines), table);
  const last = block.at(-1);
  if (last === undefined) return text;
  const { from, to } = block.find((statement) => statement.key === key) ?? { from: last.to, to: last.to };
  const comment = to === from ? "" : commentIn(lines[to - 1]!);
  const end = lines[last.from]!.endsWith("\r") ? "\r" : "";
  return lines.toSpliced(from, to - from, `${pairText([key, value])}${comment}${end}`).join("\n");
}

/** The comment at the end of a pair's last line. A # starts it if the line parses the same without the text after it. */
function commentIn(line: string): string {
  const value = tryParse([line]);
  const starts = [...line.matchAll(/\s*#/g)].map(({ index }) => index);
  const commentStart = starts.find((start) => value !== null && Bun.deepEquals(tryParse([line.slice(0, start)]), value));
  return commentStart === undefined ? "" : line.slice(commentStart).trimEnd();
}

/** Removes the table and its sub-tables, with the blank lines before each. Comments after the last pair stay. */
function withoutTable(text: string, path: readonly string[]): string {
  const lines = text.split("\n");
  const statements = statementsOf(lines);
  const isInTable = ({ table }: Statement) => table !== null && path.every((key, index) => table[index] === key);
  for (const header of statements.filter(isInTable).toReversed()) {
    const end = blockOf(statements, header.table!).at(-1)!.to;
    let from = header.from;
    while (from > 0 && lines[from - 1]!.trim() === "") from -= 1;
    lines.splice(from, end - from);
  }
  const edited = lines.join("\n");
  return edited === "" || edited.endsWith("\n") || !text.endsWith("\n") ? edited : `${edited}\n`;
}

/** The header and its pairs, up to the next header. */
function blockOf(statements: readonly Statement[], table: readonly string[]): Statement[] {
  const from = statements.findIndex((statement) => Bun.deepEquals(statement.table, table));
  if (from < 0) return [];
  const next = statements.findIndex((statement, index) => index > from && statement.table !== null);
  return statements.slice(from, next < 0 ? undefined : next);
}

/** A statement is complete when its lines parse on their own. */
function statementsOf(lines: readonly string[]): Statement[] {
  const statements: Statement[] = [];
  for (let from = 0; from < lines.length;) {
    if (/^\s*(#|$)/.test(lines[from]!)) {
      from += 1;
      continue;
    }
    let to = from + 1;
    let value = tryParse(lines.slice(from, to));
    while (value === null && to < lines.length) value = tryParse(lines.slice(from, (to += 1)));
    const isHeader = /^\s*\[/.test(lines[from]!);
    const path = value === null ? [] : headerPath(value);
    statements.push({ from, to, table: isHeader ? path : null, key: isHeader ? null : (path[0] ?? null) });
    from = to;
  }
  return statements;
}

/** Null if the lines are not complete: the statement continues in the next line. */
function tryParse(lines: readonly string[]): Record<string, unknown> | null {
  try {
    return Bun.TOML.parse(`${lines.join("\n")}\n`) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** The keys of a header: a and b of `[a.b]`. */
function headerPath(value: unknown): string[] {
  const [entry] = isRecord(value) ? Object.entries(value) : [];
  return entry === undefined ? [] : [entry[0], ...headerPath(entry[1])];
}

function tableText(path: readonly string[], table: Record<string, unknown>): string {
  const [tables, pairs] = [true, false].map((isTables) => Object.entries(table).filter(([, value]) => isRecord(value) === isTables));
  const subTables = tables!.map(([key, value]) => `\n${tableText([...path, key], value as Record<string, unknown>)}`);
  return [`[${path.map(keyText).join(".")}]\n`, ...pairs!.map((pair) => `${pairText(pair)}\n`), ...subTables].join("");
}

function pairText([key, value]: [string, unknown]): string {
  return `${keyText(key)} = ${Array.isArray(value) ? `[${value.map((item) => JSON.stringify(item)).join(", ")}]` : JSON.stringify(value)}`;
}

function keyText(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
}

function gapAfter(text: string, eol: string): string {
  if (text === "" || text.endsWith(`${eol}${eol}`)) return "";
  return text.endsWith(eol) ? eol : `${eol}${eol}`;
}
