// Reads the frontmatter of a Markdown file: its fields, its body, and problems. Never throws.
import { isRecord } from "../text/json.ts";

export type Frontmatter = { fields: Record<string, unknown>; body: string; problems: string[] };

/** `read` returns the first `maxBytes` of the file. It may throw. */
export function readFrontmatter(read: () => Buffer | null, maxBytes: number): Frontmatter {
  let head: string;
  try {
    head = new TextDecoder().decode(read() ?? new Uint8Array());
  } catch (error) {
    return { fields: {}, body: "", problems: [`can't be read: ${reasonOf(error)}`] };
  }
  const match = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(head);
  if (match === null)
    return { fields: {}, body: head, problems: [`has no frontmatter between two lines "---" in its first ${maxBytes} bytes`] };
  return { ...parseFields(match[1] ?? ""), body: head.slice(match[0].length).trim() };
}

function parseFields(block: string): Pick<Frontmatter, "fields" | "problems"> {
  try {
    const value: unknown = Bun.YAML.parse(block);
    if (isRecord(value)) return { fields: value, problems: [] };
    return { fields: {}, problems: ["its frontmatter holds no fields"] };
  } catch (error) {
    const reason = reasonOf(error).replace(/^YAML Parse error: /, "");
    return { fields: plainFields(block), problems: [`its frontmatter is not valid YAML (${reason}); put texts with a colon into quotes`] };
  }
}

/** Reads one field per line, because many files have a colon in an unquoted description. Null for a field of several lines. */
function plainFields(block: string): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const line of block.split(/\r?\n/)) {
    // No two parts of the pattern match the same letter: the file may be hostile, and a search that goes back is quadratic.
    const [, name, rest = ""] = /^([A-Za-z][\w-]*):(?=[ \t]|$)(.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const value = rest.trim();
    const isNested = value === "" || /^[>|[{&*!]/.test(value);
    fields[name] = isNested ? null : value === "true" ? true : value.replace(/^(["'])(.*)\1$/, "$2");
  }
  return fields;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
