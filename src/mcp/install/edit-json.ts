// Changes single values in JSON text and keeps every other character, also comments. Reads and writes no file.
import type * as jsoncParser from "jsonc-parser";
import type { Node, ParseError } from "jsonc-parser";
import type { TextEditor } from "./install.ts";

type Parser = typeof jsoncParser;

export async function jsonEditor(): Promise<TextEditor> {
  const parser = await import("jsonc-parser");
  return {
    read: (text) => (text.trim() === "" ? {} : readJson(parser, text)),
    set: (text, path, value) => withValue(parser, text.trim() === "" ? "{}\n" : text, path, value),
    remove: (text, path) => withoutProperty(parser, text, path),
  };
}

function readJson({ parse, printParseErrorCode }: Parser, text: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return value;
  const message = printParseErrorCode(first.error).replace(/([a-z])([A-Z])/g, "$1 $2");
  throw new SyntaxError(`line ${text.slice(0, first.offset).split("\n").length}: ${message.toLowerCase()}`);
}

function withValue(parser: Parser, text: string, path: readonly string[], value: unknown): string {
  const node = nodeAt(parser, text, path);
  if (node !== undefined) return splice(text, [node.offset, endOf(node)], jsonText(text, value, indentAt(text, node.offset)));
  // Adds the missing part of the path as one property to the innermost table that exists.
  const depth = path.findLastIndex((_, index) => nodeAt(parser, text, path.slice(0, index)) !== undefined);
  const nested = path.slice(depth + 1).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  return withProperty(parser, text, nodeAt(parser, text, path.slice(0, depth))!, [path[depth]!, nested]);
}

/** Inserts the property after the last one and its comments. */
function withProperty(parser: Parser, text: string, table: Node, [key, value]: [string, unknown]): string {
  const last = table.children?.at(-1);
  const close = endOf(table) - 1;
  const contentEnd = text.slice(0, close).trimEnd().length;
  const indent = `${indentAt(text, table.offset)}${indentUnitOf(text)}`;
  const hasComma = last !== undefined && commaAfter(parser, text, endOf(last)) !== null;
  const eol = eolOf(text);
  const property = `${eol}${indent}${JSON.stringify(key)}: ${jsonText(text, value, indent)}${hasComma ? "," : ""}`;
  const gap = text.slice(contentEnd, close).includes("\n") ? text.slice(contentEnd, close) : `${eol}${indentAt(text, table.offset)}`;
  const edited = splice(text, [contentEnd, close], `${property}${gap}`);
  return last === undefined || hasComma ? edited : splice(edited, [endOf(last), endOf(last)], ",");
}

/** Removes the property with its comma and the blanks before it. Also removes its table if the table is empty afterwards. */
function withoutProperty(parser: Parser, text: string, path: readonly string[]): string {
  const property = nodeAt(parser, text, path)?.parent;
  const table = property?.parent;
  if (property === undefined || table === undefined) return text;
  const previous = table.children![table.children!.indexOf(property) - 1];
  const ownComma = commaAfter(parser, text, endOf(property));
  const start = text.slice(0, property.offset).trimEnd().length;
  let edited = splice(text, [start, ownComma === null ? endOf(property) : ownComma + 1], "");
  const comma = ownComma === null && previous !== undefined ? commaAfter(parser, text, endOf(previous)) : null;
  if (comma !== null) edited = splice(edited, [comma, comma + 1], "");
  const parent = nodeAt(parser, edited, path.slice(0, -1));
  if (parent === undefined || edited.slice(parent.offset + 1, endOf(parent) - 1).trim() !== "") return edited;
  return path.length > 1 ? withoutProperty(parser, edited, path.slice(0, -1)) : splice(edited, [parent.offset, endOf(parent)], "{}");
}

function nodeAt({ parseTree, findNodeAtLocation }: Parser, text: string, path: readonly string[]): Node | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true });
  return root === undefined ? undefined : findNodeAtLocation(root, [...path]);
}

/** The offset of the comma after `offset`, also after comments; null if there is none. */
function commaAfter({ createScanner }: Parser, text: string, offset: number): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  scanner.scan();
  return text[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : null;
}

function splice(text: string, [start, end]: [number, number], replacement: string): string {
  return `${text.slice(0, start)}${replacement}${text.slice(end)}`;
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

/** The indentation of the line at this offset. */
function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1))![0];
}

function indentUnitOf(text: string): string {
  return /^[ \t]+(?=")/m.exec(text)?.[0] ?? "  ";
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function jsonText(text: string, value: unknown, indent: string): string {
  return JSON.stringify(value, null, indentUnitOf(text)).replaceAll("\n", `${eolOf(text)}${indent}`);
}
