// Parses messages and reports that members wrote as JSON. Input with one sensible meaning is accepted; other input is
// refused with a reason. Reads no files.
import { isRecord } from "../../kit/text/json.ts";
import { messageOf } from "../api/error.ts";
import type { Report } from "./team.ts";
import { mailLimits, messageKinds, priorities, type MessageKind, type OutgoingMessage, type Priority, type SentMessage } from "./mail.ts";

export type ParsedMail =
  /** `from` is the sender that the file names; null if it names none. */
  | { type: "message"; from: string | null; message: OutgoingMessage; warnings: string[] }
  | { type: "report"; from: string | null; report: Report; warnings: string[] }
  | { type: "refused"; reason: string };

/** The mail is refused. The message is the reason. */
class Refusal extends Error {}

export function parseMailText(text: string): ParsedMail {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { type: "refused", reason: `it is not JSON: ${messageOf(error)}` };
  }
  if (isDeeperThan(mailLimits.depth, value)) return { type: "refused", reason: `it is nested deeper than ${mailLimits.depth} levels` };
  return parseMailValue(value);
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}

/** A message or a report, as `skein msg`, `skein report` and tool calls write them, or in similar forms. */
export function parseMailValue(value: unknown): ParsedMail {
  if (!isRecord(value)) return { type: "refused", reason: "it is not a JSON object" };
  const warnings: string[] = [];
  const reader = new FieldReader(value, warnings);
  const isReport = value["to"] === undefined && reportTypes.has(String(value["type"]));
  try {
    const from = reader.text("from") || null;
    if (isReport) return { type: "report", from, report: readReport(reader), warnings };
    return { type: "message", from, message: readMessage(reader), warnings };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { type: "refused", reason: error.message };
  }
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

/** The accepted words with their meaning. */
const kindWords = new Map<string, MessageKind>([
  ...messageKinds.map((kind) => [kind, kind] as const),
  ["notification", "announcement"],
  ["query", "question"],
  ["complete", "completed"],
]);
const priorityWords = new Map<string, Priority>([
  ...priorities.map((priority) => [priority, priority] as const),
  ["medium", "normal"],
  ["critical", "urgent"],
]);

/** Reads the fields of one object. Throws a `Refusal` for a value of the wrong type. */
class FieldReader {
  readonly warnings: string[];
  readonly #value: Record<string, unknown>;

  constructor(value: Record<string, unknown>, warnings: string[]) {
    this.#value = value;
    this.warnings = warnings;
  }

  field(name: string): unknown {
    return this.#value[name] ?? undefined;
  }

  nested(name: string): FieldReader {
    const value = this.field(name) ?? {};
    if (!isRecord(value)) throw new Refusal(`"${name}" must be an object`);
    return new FieldReader(value, this.warnings);
  }

  /** The first of these fields that exists; "" if none does. */
  text(...names: string[]): string {
    const name = names.find((candidate) => this.field(candidate) !== undefined);
    const value = name === undefined ? "" : this.field(name);
    if (typeof value !== "string") throw new Refusal(`"${name}" must be text`);
    return value;
  }

  texts(name: string): string[] {
    const value = this.field(name) ?? [];
    const list = Array.isArray(value) ? value : [value];
    if (!list.every((item) => typeof item === "string" && item.trim() !== "")) throw new Refusal(`"${name}" must be a list of texts`);
    return list as string[];
  }

  flag(name: string): boolean {
    const value = this.field(name) ?? false;
    if (typeof value !== "boolean") this.warnings.push(`"${name}" is not true or false; taken as false`);
    return value === true;
  }

  /** The meaning of a word. An unknown word is taken as `fallback`, with a warning. */
  meaning<Word extends string>(text: string, words: ReadonlyMap<string, Word>, fallback: Word): Word {
    const lower = text.trim().toLowerCase();
    if (lower === "") return fallback;
    const match = words.get(lower);
    const knownWords = [...new Set(words.values())].join(", ");
    if (match === undefined) this.warnings.push(`"${text.slice(0, 40)}" is none of ${knownWords}; taken as ${fallback}`);
    return match ?? fallback;
  }
}

function readMessage(reader: FieldReader): OutgoingMessage {
  const metadata = reader.nested("metadata");
  const inner = isRecord(reader.field("body")) ? reader.nested("body") : null;
  const body = inner?.text("content") ?? reader.text("body", "message");
  const to = reader.texts("to").flatMap(splitAddresses);
  const subject = reader.text("subject");
  const replyTo = readReplyTo(reader, reader.text("reply_to", "correlation_id") || metadata.text("correlation_id", "reply_to"));
  const kind = reader.meaning(reader.text("kind", "type"), kindWords, replyTo === null ? "announcement" : "response");
  const priority = reader.meaning(reader.text("priority") || metadata.text("priority"), priorityWords, "normal");
  const attachments = [...reader.texts("attachments"), ...(inner?.texts("attachments") ?? [])];
  const requiresResponse = reader.flag("requires_response") || metadata.flag("requires_response");
  if (reader.field("to") === undefined)
    throw new Refusal(`it has no addressee, and its type is not one of a report: ${[...reportTypes].join(", ")}`);
  if (to.length === 0) throw new Refusal("it has no addressee");
  checkLimit(`it has ${to.length} addressees`, to.length, mailLimits.addressees);
  checkLimit(`it has ${attachments.length} attachments`, attachments.length, mailLimits.addressees);
  checkLimit(`its subject has ${subject.length} characters`, subject.length, mailLimits.subjectChars);
  checkTextLimit(body);
  if (body.trim() === "" && subject.trim() === "") throw new Refusal("it has neither a subject nor a body");
  return { to, kind, priority, subject, body, attachments, replyTo, requiresResponse };
}

function readReplyTo(reader: FieldReader, id: string): string | null {
  if (id === "" || /^[\w.-]{1,64}$/.test(id)) return id || null;
  reader.warnings.push("reply_to is not the id of a message; ignored");
  return null;
}

/** `a, b` names two addressees. */
function splitAddresses(text: string): string[] {
  return text
    .split(",")
    .map((address) => address.trim())
    .filter((address) => address !== "");
}

function readReport(reader: FieldReader): Report {
  const textOf = (name: string): string => reader.text(name, "text");
  const required = (name: string, text: string): string => {
    if (text.trim() === "") throw new Refusal(`"${name}" is missing`);
    checkTextLimit(text);
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
      if (result !== "success" && result !== "failure") throw new Refusal('"result" must be success or failure');
      return { type: "complete", result, summary: required("summary", textOf("summary")), outputs: reader.texts("outputs") };
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

function checkTextLimit(text: string): void {
  const bytes = Buffer.byteLength(text);
  checkLimit(`its text has ${bytes} bytes`, bytes, mailLimits.bodyBytes);
}

function checkLimit(fact: string, count: number, limit: number): void {
  if (count > limit) throw new Refusal(`${fact}; ${limit} are allowed`);
}
