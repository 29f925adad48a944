// Conversions that all wires share, between parts of the tree and messages of a vendor. Contains no code for a single wire.
import type {
  CallPart,
  HandlePart,
  ImageData,
  ImagePart,
  Opaque,
  Part,
  ResultPart,
  TextPart,
  ThinkingPart,
} from "../../protocol/tree/node.ts";
import type { Message, WireName } from "../model.ts";
import { isRecord, type Json } from "../../kit/text/json.ts";
import { parseJson } from "./json.ts";

/** Consecutive messages of one side, joined: most vendors require that the sides alternate. */
export type MessageSide = (AssistantSide | UserSide) & {
  /** The index of the message that it begins with. */
  firstMessage: number;
};
export type AssistantSide = { role: "assistant"; parts: (TextPart | ThinkingPart | CallPart)[] };
export type UserSide = { role: "user"; results: ResultPart[]; content: (TextPart | ImagePart)[] };

/** The alternating sides. Leaves out parts that vendors refuse: blank text, and thinking without text or a call after it. */
export function groupBySide(messages: Message[], target: { wire: WireName; model: string }): MessageSide[] {
  const sides: MessageSide[] = [];
  for (const [firstMessage, message] of messages.entries()) {
    if (message.role === "assistant") {
      const parts = assistantParts(message.parts, target);
      const last = sides.at(-1);
      if (last?.role === "assistant") last.parts.push(...parts);
      else if (parts.length > 0) sides.push({ role: "assistant", parts, firstMessage });
      continue;
    }
    const last = sides.at(-1);
    const side = last?.role === "user" ? last : { role: "user" as const, results: [], content: [], firstMessage };
    addToUserSide(side, message.parts);
    if (side !== last && side.results.length + side.content.length > 0) sides.push(side);
  }
  return sides;
}

function assistantParts(parts: Part[], { wire, model }: { wire: WireName; model: string }): AssistantSide["parts"] {
  const result: AssistantSide["parts"] = [];
  for (const part of parts) {
    if (part.kind === "handle") result.push(handleText(part));
    if (part.kind !== "call" && part.kind !== "text" && part.kind !== "thinking") continue;
    // Opaque data is sent back only to the wire and model that it came from.
    const opaque = part.opaque?.wire === wire && part.opaque.model === model ? part.opaque : undefined;
    if (part.kind === "call") result.push({ ...part, name: fitName(part.name), input: wellFormedInput(part.input), opaque });
    else if (opaque || (part.kind === "text" && hasWords(part.text))) result.push({ ...part, text: wellFormed(part.text), opaque });
  }
  const end = result.findLastIndex((part) => part.kind !== "thinking");
  return result.slice(0, end + 1);
}

function addToUserSide(side: UserSide, parts: Part[]): void {
  for (const part of parts) {
    if (part.kind === "result") side.results.push({ ...part, name: fitName(part.name), text: wellFormed(part.text) });
    if (part.kind === "image") side.content.push(part);
    if (part.kind === "handle") side.content.push(handleText(part));
    if (part.kind === "text" && hasWords(part.text)) side.content.push({ kind: "text", text: wellFormed(part.text) });
  }
}

function handleText(part: HandlePart): TextPart {
  return { kind: "text", text: wellFormed(part.excerpt) || `[${part.handle.source} ${part.handle.identifier}]` };
}

function hasWords(text: string): boolean {
  return /\S/.test(text);
}

/** A model can invent a tool name that vendors refuse in a later request. */
function fitName(name: string): string {
  return name.replace(/[^\w-]/g, "_").slice(0, 64) || "unknown";
}

/** Vendors refuse a request with a lone surrogate. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

function wellFormedInput<T>(value: T): T {
  if (typeof value === "string") return wellFormed(value) as T;
  if (Array.isArray(value)) return value.map(wellFormedInput) as T;
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [wellFormed(key), wellFormedInput(inner)])) as T;
}

export function opaqueOf(part: { opaque?: Opaque }): Json | undefined {
  const data = part.opaque?.data;
  return isRecord(data) ? data : undefined;
}

export function imageUrl(image: ImageData): string {
  return `data:${image.mime};base64,${image.base64}`;
}

/** Parses streamed arguments. Text that is no JSON object becomes `malformed`, with an empty input. */
export function parseCall(id: string, name: string, raw: string): CallPart {
  const text = raw.trim();
  if (text === "") return { kind: "call", id, name, input: {} };
  const input = parseJson(text);
  return input ? { kind: "call", id, name, input } : { kind: "call", id, name, input: {}, malformed: raw };
}

export function makeCallId(): string {
  return `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
}

/** Converts an id of another vendor to an allowed form. The same id always has the same result. */
export function fitCallId(id: string, allowed: RegExp = /^[\w-]+$/, length: number = 64): string {
  if (allowed.test(id) && id.length <= length) return id;
  return Bun.hash(id).toString(36).padStart(9, "0").slice(-Math.min(length, 9));
}
