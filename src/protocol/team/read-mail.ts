// Parses messages and reports that members wrote as JSON. Input with one sensible meaning is accepted; other input is
// refused with a reason. Reads no files.
import { isRecord } from "../../kit/text/json.ts";
import type { Report } from "./team.ts";
import { mailLimits, messageKinds, priorities, type MessageKind, type OutgoingMessage, type Priority, type SentMessage } from "./mail.ts";

export type ParsedMail =
  /** `from` is the claim of the file; null if it claims nothing. */
  | { type: "message"; from: string | null; message: OutgoingMessage; warnings: string[] }
  | { type: "report"; from: string | null; report: Report; warnings: string[] }
  | { type: "refused"; reason: string };

export function parseMailText(text: string): ParsedMail {
  if (isDeep(text)) return refuse(`it is nested deeper than ${mailLimits.depth} levels`);
  try {
    return parseMailValue(JSON.parse(text));
  } catch (error) {
    return refuse(`it is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A message or a report, as `skein msg`, `skein report` and tool calls write them, or in similar forms. */
export function parseMailValue(value: unknown): ParsedMail {
  if (!isRecord(value)) return refuse("it is not a JSON object");
  const reader = new FieldReader(value);
  const from = reader.text("from");
  const isReport = value["to"] === undefined && reportTypes.has(String(value["type"]));
  const content = isReport
    ? { type: "report" as const, report: readReport(reader) }
    : { type: "message" as const, message: readMessage(reader) };
  if (reader.problem !== null) return refuse(reader.problem);
  return { ...content, from: from === "" ? null : from, warnings: reader.warnings };
}

/** Parses the output of `messageRecord`; null for anything else. */
export function parseSentMessage(value: unknown): SentMessage | null {
  if (!isRecord(value)) return null;
  const mail = parseMailValue(value);
  const { id, timestamp } = value;
  const sentAt = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  if (mail.type !== "message" || mail.from === null || typeof id !== "string" || Number.isNaN(sentAt)) return null;
  const { delivered = [], undelivered = [] } = value as Partial<Pick<SentMessage, "delivered" | "undelivered">>;
  return { ...mail.message, id, from: mail.from, sentAt, delivered, undelivered };
}

const reportTypes: ReadonlySet<string> = new Set<Report["type"]>(["status", "artifact", "dependency", "complete"]);
const kindSynonyms = new Map<string, MessageKind>([
  ["notification", "announcement"],
  ["query", "question"],
  ["complete", "completed"],
]);
const prioritySynonyms = new Map<string, Priority>([
  ["medium", "normal"],
  ["critical", "urgent"],
]);

/** The fields of one file. The first problem is the reason of the refusal. */
class FieldReader {
  problem: string | null = null;
  readonly warnings: string[] = [];
  readonly #value: Record<string, unknown>;

  constructor(value: Record<string, unknown>) {
    this.#value = value;
  }

  refuse(reason: string): void {
    this.problem ??= reason;
  }

  field(name: string): unknown {
    return this.#value[name] ?? undefined;
  }

  nested(name: string): FieldReader {
    const value = this.field(name);
    if (value !== undefined && !isRecord(value)) this.refuse(`"${name}" must be an object`);
    return new FieldReader(isRecord(value) ? value : {});
  }

  text(...names: string[]): string {
    const name = names.find((candidate) => this.field(candidate) !== undefined);
    const value = name === undefined ? "" : this.field(name);
    if (typeof value === "string") return value;
    this.refuse(`"${name}" must be text`);
    return "";
  }

  texts(name: string): string[] {
    const value = this.field(name) ?? [];
    const list = Array.isArray(value) ? value : [value];
    if (list.every((item) => typeof item === "string" && item.trim() !== "")) return list as string[];
    this.refuse(`"${name}" must be a list of texts`);
    return [];
  }

  /** Maps any text to one of the allowed words. */
  word<Word extends string>(text: string, allowed: { words: readonly Word[]; synonyms: ReadonlyMap<string, Word> }, fallback: Word): Word {
    const { words, synonyms } = allowed;
    const lower = text.trim().toLowerCase();
    if (lower === "") return fallback;
    const match = words.find((word) => word === lower) ?? synonyms.get(lower);
    if (match === undefined) this.warnings.push(`"${text.slice(0, 40)}" is none of ${words.join(", ")}; taken as ${fallback}`);
    return match ?? fallback;
  }

  flag(name: string): boolean {
    const value = this.field(name) ?? false;
    if (typeof value !== "boolean") this.warnings.push(`"${name}" is not true or false; taken as false`);
    return value === true;
  }
}

function readMessage(reader: FieldReader): OutgoingMessage {
  const metadata = reader.nested("metadata");
  const isObject = isRecord(reader.field("body"));
  const inner = isObject ? reader.nested("body") : reader;
  const body = isObject ? inner.text("content") : reader.text("body", "message");
  const to = reader.texts("to").flatMap(splitAddresses);
  const subject = reader.text("subject");
  const replyTo = readReplyTo(reader, reader.text("reply_to", "correlation_id") || metadata.text("correlation_id", "reply_to"));
  const kind = reader.word(
    reader.text("kind", "type"),
    { words: messageKinds, synonyms: kindSynonyms },
    replyTo === null ? "announcement" : "response",
  );
  const priority = reader.word(
    reader.text("priority") || metadata.text("priority"),
    { words: priorities, synonyms: prioritySynonyms },
    "normal",
  );
  const attachments = [...reader.texts("attachments"), ...(isObject ? inner.texts("attachments") : [])];
  const requiresResponse = reader.flag("requires_response") || metadata.flag("requires_response");
  for (const nested of [metadata, inner]) {
    if (nested.problem !== null) reader.refuse(nested.problem);
    if (nested !== reader) reader.warnings.push(...nested.warnings);
  }
  if (reader.field("to") === undefined)
    reader.refuse(`it has no addressee, and its type is not one of a report: ${[...reportTypes].join(", ")}`);
  if (to.length === 0) reader.refuse("it has no addressee");
  if (to.length > mailLimits.addressees) reader.refuse(`it has ${to.length} addressees; ${mailLimits.addressees} are allowed`);
  if (attachments.length > mailLimits.addressees)
    reader.refuse(`it has ${attachments.length} attachments; ${mailLimits.addressees} are allowed`);
  if (subject.length > mailLimits.subjectChars)
    reader.refuse(`its subject has ${subject.length} characters; ${mailLimits.subjectChars} are allowed`);
  checkBodySize(reader, body);
  if (body.trim() === "" && subject.trim() === "") reader.refuse("it has neither a subject nor a body");
  return { to, kind, priority, subject, body, attachments, replyTo, requiresResponse };
}

function readReplyTo(reader: FieldReader, id: string): string | null {
  if (id === "" || /^[\w.-]{1,64}$/.test(id)) return id || null;
  reader.warnings.push("reply_to is not the id of a message; ignored");
  return null;
}

/** `a, b` names two addressees. */
export function splitAddresses(text: string): string[] {
  return text
    .split(",")
    .map((address) => address.trim())
    .filter((address) => address !== "");
}

function readReport(reader: FieldReader): Report {
  const textOf = (name: string): string => reader.text(name, "text");
  const required = (name: string, text: string): string => {
    if (text.trim() === "") reader.refuse(`"${name}" is missing`);
    checkBodySize(reader, text);
    return text;
  };
  switch (reader.field("type") as Report["type"]) {
    case "status":
      return { type: "status", message: required("message", textOf("message")), progress: readProgress(reader) };
    case "artifact":
      return { type: "artifact", path: required("path", reader.text("path")), description: textOf("description") };
    case "dependency":
      return { type: "dependency", waitingFor: required("waiting_for", reader.text("waiting_for")), reason: textOf("reason") };
    case "complete": {
      const result = reader.text("result").toLowerCase();
      if (result !== "success" && result !== "failure") reader.refuse('"result" must be success or failure');
      const summary = required("summary", textOf("summary"));
      return { type: "complete", result: result === "success" ? "success" : "failure", summary, outputs: reader.texts("outputs") };
    }
  }
}

function readProgress(reader: FieldReader): number | null {
  const value = reader.field("progress");
  if (value === undefined) return null;
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  reader.warnings.push('"progress" is not a number from 0 to 1; ignored');
  return null;
}

function checkBodySize(reader: FieldReader, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > mailLimits.bodyBytes) reader.refuse(`its text has ${bytes} bytes; ${mailLimits.bodyBytes} are allowed`);
}

/** Counts brackets without parsing. */
function isDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const char = text[index];
    if (inString) {
      if (char === "\\") index++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") {
      if (++depth > mailLimits.depth) return true;
    } else if (char === "}" || char === "]") depth--;
  }
  return false;
}

function refuse(reason: string): ParsedMail {
  return { type: "refused", reason };
}
