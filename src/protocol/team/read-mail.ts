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
  if (isDeep(text)) return refused(`it is nested deeper than ${mailLimits.depth} levels`);
  try {
    return parseMailValue(JSON.parse(text));
  } catch (error) {
    return refused(`it is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A message or a report, as `skein msg`, `skein report` and tool calls write them, or in similar forms. */
export function parseMailValue(value: unknown): ParsedMail {
  if (!isRecord(value)) return refused("it is not a JSON object");
  const reading = new FieldReader(value);
  const from = reading.text("from");
  const isReport = value["to"] === undefined && reportTypes.has(String(value["type"]));
  const what = isReport
    ? { type: "report" as const, report: reportIn(reading) }
    : { type: "message" as const, message: messageIn(reading) };
  if (reading.problem !== null) return refused(reading.problem);
  return { ...what, from: from === "" ? null : from, warnings: reading.warnings };
}

/** Parses the output of `messageRecord`; null for anything else. */
export function parseSentMessage(value: unknown): SentMessage | null {
  if (!isRecord(value)) return null;
  const read = parseMailValue(value);
  const { id, timestamp } = value;
  const sentAt = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  if (read.type !== "message" || read.from === null || typeof id !== "string" || Number.isNaN(sentAt)) return null;
  const { delivered = [], undelivered = [] } = value as Partial<Pick<SentMessage, "delivered" | "undelivered">>;
  return { ...read.message, id, from: read.from, sentAt, delivered, undelivered };
}

const reportTypes: ReadonlySet<string> = new Set<Report["type"]>(["status", "artifact", "dependency", "complete"]);
/** Synonyms of kinds and priorities. */
const kindNames = new Map<string, MessageKind>([
  ["notification", "announcement"],
  ["query", "question"],
  ["complete", "completed"],
]);
const priorityNames = new Map<string, Priority>([
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

  below(name: string): FieldReader {
    const value = this.field(name);
    if (value !== undefined && !isRecord(value)) this.refuse(`"${name}" must be an object`);
    return new FieldReader(isRecord(value) ? value : {});
  }

  text(...names: string[]): string {
    const name = names.find((one) => this.field(one) !== undefined);
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

  /** Maps any word to one of the allowed ones. */
  word<Word extends string>(said: string, words: readonly Word[], names: ReadonlyMap<string, Word>, usual: Word): Word {
    const lower = said.trim().toLowerCase();
    if (lower === "") return usual;
    const known = words.find((word) => word === lower) ?? names.get(lower);
    if (known === undefined) this.warnings.push(`"${said.slice(0, 40)}" is none of ${words.join(", ")}; taken as ${usual}`);
    return known ?? usual;
  }

  flag(name: string): boolean {
    const value = this.field(name) ?? false;
    if (typeof value !== "boolean") this.warnings.push(`"${name}" is not true or false; taken as false`);
    return value === true;
  }
}

function messageIn(reading: FieldReader): OutgoingMessage {
  const metadata = reading.below("metadata");
  const isObject = isRecord(reading.field("body"));
  const inner = isObject ? reading.below("body") : reading;
  const body = isObject ? inner.text("content") : reading.text("body", "message");
  const to = reading.texts("to").flatMap(splitAddresses);
  const subject = reading.text("subject");
  const replyTo = replyIn(reading, reading.text("reply_to", "correlation_id") || metadata.text("correlation_id", "reply_to"));
  const kind = reading.word(reading.text("kind", "type"), messageKinds, kindNames, replyTo === null ? "announcement" : "response");
  const priority = reading.word(reading.text("priority") || metadata.text("priority"), priorities, priorityNames, "normal");
  const attachments = [...reading.texts("attachments"), ...(isObject ? inner.texts("attachments") : [])];
  const requiresResponse = reading.flag("requires_response") || metadata.flag("requires_response");
  for (const other of [metadata, inner]) {
    if (other.problem !== null) reading.refuse(other.problem);
    if (other !== reading) reading.warnings.push(...other.warnings);
  }
  if (reading.field("to") === undefined)
    reading.refuse(`it is addressed to nobody, and its type is none of a report: ${[...reportTypes].join(", ")}`);
  if (to.length === 0) reading.refuse("it is addressed to nobody");
  if (to.length > mailLimits.addressees) reading.refuse(`it has ${to.length} addressees; ${mailLimits.addressees} are allowed`);
  if (attachments.length > mailLimits.addressees)
    reading.refuse(`it has ${attachments.length} attachments; ${mailLimits.addressees} are allowed`);
  if (subject.length > mailLimits.subjectChars)
    reading.refuse(`its subject has ${subject.length} characters; ${mailLimits.subjectChars} are allowed`);
  boundBody(reading, body);
  if (body.trim() === "" && subject.trim() === "") reading.refuse("it says nothing");
  return { to, kind, priority, subject, body, attachments, replyTo, requiresResponse };
}

function replyIn(reading: FieldReader, id: string): string | null {
  if (id === "" || /^[\w.-]{1,64}$/.test(id)) return id || null;
  reading.warnings.push("what it answers is no id of a message; left out");
  return null;
}

/** `a, b` names two addressees. */
export function splitAddresses(text: string): string[] {
  return text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

function reportIn(reading: FieldReader): Report {
  const of = (name: string): string => reading.text(name, "text");
  const need = (name: string, text: string): string => {
    if (text.trim() === "") reading.refuse(`"${name}" is missing`);
    boundBody(reading, text);
    return text;
  };
  switch (reading.field("type") as Report["type"]) {
    case "status":
      return { type: "status", message: need("message", of("message")), progress: progressIn(reading) };
    case "artifact":
      return { type: "artifact", path: need("path", reading.text("path")), description: of("description") };
    case "dependency":
      return { type: "dependency", waitingFor: need("waiting_for", reading.text("waiting_for")), reason: of("reason") };
    case "complete": {
      const result = reading.text("result").toLowerCase();
      if (result !== "success" && result !== "failure") reading.refuse('"result" must be success or failure');
      const summary = need("summary", of("summary"));
      return { type: "complete", result: result === "success" ? "success" : "failure", summary, outputs: reading.texts("outputs") };
    }
  }
}

function progressIn(reading: FieldReader): number | null {
  const value = reading.field("progress");
  if (value === undefined) return null;
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  reading.warnings.push('"progress" is no number from 0 to 1; left out');
  return null;
}

function boundBody(reading: FieldReader, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > mailLimits.bodyBytes) reading.refuse(`its text has ${bytes} bytes; ${mailLimits.bodyBytes} are allowed`);
}

/** Checked before the text is parsed. */
function isDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") {
      if (++depth > mailLimits.depth) return true;
    } else if (char === "}" || char === "]") depth--;
  }
  return false;
}

function refused(reason: string): ParsedMail {
  return { type: "refused", reason };
}
