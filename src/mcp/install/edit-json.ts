// Changes single values in the text of a JSON file and leaves every other character where it is, comments included.
// Knows no file and no client.
import type * as jsoncParser from "jsonc-parser";
import type { Node, ParseError } from "jsonc-parser";
import type { TextEditor } from "./install.ts";

type Parser = typeof jsoncParser;

export async function jsonEditor(): Promise<TextEditor> {
  const parser = await import("jsonc-parser");
  return {
    read: (text) => (text.trim() === "" ? {} : readJson(parser, text)),
    set: (text, path, value) => withValue(parser, text.trim() === "" ? "{}\n" : text, path, value),
    take: (text, path) => withoutProperty(parser, text, path),
  };
}

function readJson({ parse, printParseErrorCode }: Parser, text: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return value;
  const words = printParseErrorCode(first.error).replace(/([a-z])([A-Z])/g, "$1 $2");
  throw new SyntaxError(`line ${text.slice(0, first.offset).split("\n").length}: ${words.toLowerCase()}`);
}

function withValue(parser: Parser, text: string, path: readonly string[], value: unknown): string {
  const there = nodeAt(parser, text, path);
  if (there !== undefined) return splice(text, there.offset, endOf(there), jsonText(text, value, indentAt(text, there.offset)));
  // The nearest table that is there gets the rest of the path as one property.
  const depth = path.findLastIndex((_, at) => nodeAt(parser, text, path.slice(0, at)) !== undefined);
  const rest = path.slice(depth + 1).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  return withProperty(parser, text, nodeAt(parser, text, path.slice(0, depth))!, [path[depth]!, rest]);
}

/** After the last property and its comments. */
function withProperty(parser: Parser, text: string, table: Node, [key, value]: [string, unknown]): string {
  const last = table.children?.at(-1);
  const close = endOf(table) - 1;
  const content = text.slice(0, close).trimEnd().length;
  const indent = `${indentAt(text, table.offset)}${unitOf(text)}`;
  const hasComma = last !== undefined && commaAfter(parser, text, endOf(last)) !== null;
  const eol = eolOf(text);
  const own = `${eol}${indent}${JSON.stringify(key)}: ${jsonText(text, value, indent)}${hasComma ? "," : ""}`;
  const gap = text.slice(content, close).includes("\n") ? text.slice(content, close) : `${eol}${indentAt(text, table.offset)}`;
  const whole = splice(text, content, close, `${own}${gap}`);
  return last === undefined || hasComma ? whole : splice(whole, endOf(last), endOf(last), ",");
}

/** With its comma and the blanks before it; a table that has nothing else in it goes too. */
function withoutProperty(parser: Parser, text: string, path: readonly string[]): string {
  const property = nodeAt(parser, text, path)?.parent;
  const table = property?.parent;
  if (property === undefined || table === undefined) return text;
  const before = table.children![table.children!.indexOf(property) - 1];
  const ownComma = commaAfter(parser, text, endOf(property));
  let rest = splice(text, text.slice(0, property.offset).trimEnd().length, ownComma === null ? endOf(property) : ownComma + 1, "");
  const comma = ownComma === null && before !== undefined ? commaAfter(parser, text, endOf(before)) : null;
  if (comma !== null) rest = splice(rest, comma, comma + 1, "");
  const left = nodeAt(parser, rest, path.slice(0, -1));
  if (left === undefined || rest.slice(left.offset + 1, endOf(left) - 1).trim() !== "") return rest;
  return path.length > 1 ? withoutProperty(parser, rest, path.slice(0, -1)) : splice(rest, left.offset, endOf(left), "{}");
}

function nodeAt({ parseTree, findNodeAtLocation }: Parser, text: string, path: readonly string[]): Node | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true });
  return root === undefined ? undefined : findNodeAtLocation(root, [...path]);
}

/** Comments may stand before it. */
function commaAfter({ createScanner }: Parser, text: string, offset: number): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  scanner.scan();
  return text[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : null;
}

function splice(text: string, from: number, to: number, between: string): string {
  return `${text.slice(0, from)}${between}${text.slice(to)}`;
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

/** Of the line that this place is in. */
function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1))![0];
}

function unitOf(text: string): string {
  return /^[ \t]+(?=")/m.exec(text)?.[0] ?? "  ";
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function jsonText(text: string, value: unknown, indent: string): string {
  return JSON.stringify(value, null, unitOf(text)).replaceAll("\n", `${eolOf(text)}${indent}`);
}
