// The nodes of the tree. A node is immutable: nothing in here is ever changed after it was stored.
import type { StatementInfo } from "../team/group.ts";
import type { Handle } from "./handle.ts";
import type { TeamEvent } from "../team/team.ts";
import type { Usage } from "./usage.ts";

export type Author = "user" | "agent" | "tool" | "note";

/** Vendor data that must be sent back as it came, and only to the wire and model that made it. */
export type Opaque = { wire: string; model: string; data: unknown };

export type TextPart = { kind: "text"; text: string; opaque?: Opaque };
export type ThinkingPart = { kind: "thinking"; text: string; opaque?: Opaque };
export type CallPart = {
  kind: "call";
  id: string;
  name: string;
  input: Record<string, unknown>;
  /** What the model sent, when it was no JSON object; `input` is then empty. */
  malformed?: string;
  opaque?: Opaque;
};
export type ResultPart = {
  kind: "result";
  call: string;
  name: string;
  text: string;
  isError: boolean;
  images?: ImageData[];
  /** Where the whole output is, when `text` is an excerpt. */
  handle?: Handle;
  /** For people, not for the model: a unified diff, say. */
  display?: string;
};
export type ImagePart = { kind: "image" } & ImageData;
export type HandlePart = { kind: "handle"; handle: Handle; excerpt: string };

export type Part = TextPart | ThinkingPart | CallPart | ResultPart | ImagePart | HandlePart;

export type ImageData = { mime: string; base64: string };

/** What a note is about; user, agent and tool nodes have none. */
export type Note =
  | { about: "compaction"; keptFrom: string | null }
  | { about: "interruption" }
  | { about: "correction" }
  /** What a sub-agent of a foreign CLI said or did below the call that started it: shown, never sent. */
  | { about: "below"; call: string }
  /** What a participant of a group said: shown, never sent; the group's answer is. */
  | { about: "group"; said: StatementInfo }
  /** What happened to a team: shown, never sent. */
  | { about: "team"; happened: TeamEvent }
  | { about: "graft"; from: { session: string; node: string } };

/** A node as an agent makes it: the engine gives it an id, a parent and a place. */
export type NewNode = {
  author: Author;
  parts: Part[];
  note?: Note;
  /** `vendor/id` that wrote an agent node, what it used and what that cost. */
  model?: string;
  usage?: Usage;
  costUsd?: number | null;
};

export type Node = NewNode & {
  id: string;
  parent: string | null;
  tree: string;
  session: string;
  turn: string | null;
  at: number;
};

/** Longest text of a tool result in a node. The full output of a longer one is stored behind a handle. */
export const maxResultBytes = 32 * 1024;

/** The short form of an id: its last eight hex digits (the first ones are a clock). */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** The text of a node as a person reads it, without thinking, calls or results. */
export function textOf(node: { parts: Part[] }): string {
  return node.parts
    .filter((part) => part.kind === "text")
    .map((part) => part.text)
    .join("\n\n");
}

/** What a session is about that begins with this node: what was said, or the command that was run; null when nobody asked for anything. */
export function taskOf(node: NewNode): string | null {
  if (node.author !== "user") return null;
  const [handle] = node.parts.filter((part) => part.kind === "handle");
  return textOf(node).trim() || (handle?.excerpt.split("\n", 1)[0] ?? null);
}

export function callsOf(node: { parts: Part[] }): CallPart[] {
  return node.parts.filter((part) => part.kind === "call");
}

/** The argument of a tool call that a person reads first. All of the input as JSON if there is no such argument. */
export function mainArgument(input: Record<string, unknown>): string {
  const main = input["command"] ?? input["path"] ?? input["task"] ?? input["question"];
  if (typeof main === "string") return main;
  return Object.keys(input).length === 0 ? "" : JSON.stringify(input);
}
