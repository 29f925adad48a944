// What the wires have in common: how parts of the tree become what a vendor takes, and back. No wire's own words.
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
import type { ModelRequest, VendorError, StopReason, WireName } from "../model.ts";
import { isRecord } from "../../kit/text/json.ts";
import { type Json, parseJson } from "./json.ts";

/** Consecutive messages of one side as one, since most vendors want the sides to take turns. */
export type MessageSide =
  | { role: "assistant"; parts: (TextPart | ThinkingPart | CallPart)[] }
  | { role: "user"; results: ResultPart[]; content: (TextPart | ImagePart)[] };

/** The sides in turn. What can't be sent is left out: text without a word in it, and thinking that led to nothing. */
export function groupBySide(request: ModelRequest, wire: WireName): MessageSide[] {
  const sides: MessageSide[] = [];
  for (const message of request.messages) {
    if (message.role === "assistant") {
      const parts = spokenParts(message.parts, wire, request.model);
      const last = sides.at(-1);
      if (last?.role === "assistant") last.parts.push(...parts);
      else if (parts.length > 0) sides.push({ role: "assistant", parts });
      continue;
    }
    const last = sides.at(-1);
    const heard = last?.role === "user" ? last : { role: "user" as const, results: [], content: [] };
    addToUserSide(heard, message.parts);
    if (heard !== last && heard.results.length + heard.content.length > 0) sides.push(heard);
  }
  return sides;
}

function spokenParts(parts: Part[], wire: WireName, model: string): (TextPart | ThinkingPart | CallPart)[] {
  const spoken: (TextPart | ThinkingPart | CallPart)[] = [];
  for (const part of parts) {
    if (part.kind === "call")
      spoken.push({ ...part, name: fitName(part.name), input: wellFormedInput(part.input), opaque: ownOpaque(part.opaque, wire, model) });
    if (part.kind === "handle") spoken.push(textOfHandle(part));
    if (part.kind === "text") {
      const opaque = ownOpaque(part.opaque, wire, model);
      if (hasWords(part.text) || opaque) spoken.push({ kind: "text", text: wellFormed(part.text), opaque });
    }
    if (part.kind === "thinking") {
      const opaque = ownOpaque(part.opaque, wire, model);
      if (opaque) spoken.push({ ...part, opaque });
    }
  }
  const end = spoken.findLastIndex((part) => part.kind !== "thinking");
  return spoken.slice(0, end + 1);
}

function ownOpaque(opaque: Opaque | undefined, wire: WireName, model: string): Opaque | undefined {
  return opaque?.wire === wire && opaque.model === model ? opaque : undefined;
}

function addToUserSide(side: Extract<MessageSide, { role: "user" }>, parts: Part[]): void {
  for (const part of parts) {
    if (part.kind === "result") side.results.push({ ...part, name: fitName(part.name), text: wellFormed(part.text) });
    if (part.kind === "image") side.content.push(part);
    if (part.kind === "handle") side.content.push(textOfHandle(part));
    if (part.kind === "text" && hasWords(part.text)) side.content.push({ kind: "text", text: wellFormed(part.text) });
  }
}

function textOfHandle(part: HandlePart): TextPart {
  return { kind: "text", text: wellFormed(part.excerpt) || `[${part.handle.source} ${part.handle.identifier}]` };
}

function hasWords(text: string): boolean {
  return /\S/.test(text);
}

/** A tool that a model made up may have a name that no vendor takes back. */
function fitName(name: string): string {
  return name.replace(/[^\w-]/g, "_").slice(0, 64) || "unknown";
}

/** A lone surrogate is no Unicode, and a request that has one is refused. */
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

/** Arguments as they were streamed; what is no JSON object is kept beside an empty input. */
export function parseCall(id: string, name: string, raw: string): CallPart {
  const text = raw.trim();
  if (text === "") return { kind: "call", id, name, input: {} };
  const input = parseJson(text);
  return input ? { kind: "call", id, name, input } : { kind: "call", id, name, input: {}, malformed: raw };
}

export function makeCallId(): string {
  return `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
}

/** An id another vendor made, in a form this one takes; the same one always becomes the same. */
export function fitCallId(id: string, allowed: RegExp, length: number): string {
  if (allowed.test(id) && id.length <= length) return id;
  return Bun.hash(id).toString(36).padStart(9, "0").slice(-Math.min(length, 9));
}

export function stopReasonFor(stop: StopReason, parts: Part[]): StopReason {
  return stop === "end" && parts.some((part) => part.kind === "call") ? "calls" : stop;
}

export const notJson: VendorError = { status: null, code: "invalid-json", message: "the answer had an event that is no JSON" };
