// The head of a SKILL.md: its fields, or what is wrong with it. Reads a bounded piece and throws nothing.
import { closeSync, openSync, readSync } from "node:fs";
import { messageOf } from "../protocol/error.ts";

export const headBytes = 8_192;

export type Frontmatter = { fields: Record<string, unknown>; problems: string[] };

export function readFrontmatter(path: string): Frontmatter {
  let head: string;
  try {
    head = readHead(path);
  } catch (error) {
    return { fields: {}, problems: [`can't be read: ${messageOf(error)}`] };
  }
  const block = frontmatterOf(head);
  return block === null
    ? { fields: {}, problems: [`has no frontmatter between two lines "---" in its first ${headBytes} bytes`] }
    : parseFields(block);
}

/** The caller has made sure that it is a file: a pipe would be waited for here. */
function readHead(path: string): string {
  const fd = openSync(path, "r");
  try {
    const buffer = new Uint8Array(headBytes);
    return new TextDecoder().decode(buffer.subarray(0, readSync(fd, buffer, 0, headBytes, 0)));
  } finally {
    closeSync(fd);
  }
}

function frontmatterOf(head: string): string | null {
  const match = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(head);
  return match?.[1] ?? null;
}

function parseFields(block: string): Frontmatter {
  try {
    const value: unknown = Bun.YAML.parse(block);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { fields: value as Record<string, unknown>, problems: [] };
    return { fields: {}, problems: ["its frontmatter holds no fields"] };
  } catch (error) {
    const reason = messageOf(error).replace(/^YAML Parse error: /, "");
    return { fields: plainFields(block), problems: [`its frontmatter is not valid YAML (${reason}); put texts with a colon into quotes`] };
  }
}

/** Fields of one line each: many files have a colon in an unquoted description. */
function plainFields(block: string): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const line of block.split(/\r?\n/)) {
    const match = /^([a-z][a-z-]*):[ \t]+(\S.*?)[ \t]*$/.exec(line);
    if (!match?.[1] || !match[2]) continue;
    const isNested = /^[>|[{&*!]/.test(match[2]);
    if (!isNested) fields[match[1]] = match[2] === "true" ? true : match[2].replace(/^(["'])(.*)\1$/, "$2");
  }
  return fields;
}
