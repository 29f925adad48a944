// Turns the events of a session into updates of the protocol, and a stored session into the updates that repeat it.
// Texts are sent in pieces and can't be taken back: a piece is sent only if it follows what was sent before.
import type { ContentBlock, SessionUpdate } from "@agentclientprotocol/sdk";
import type { Event } from "../../protocol/tree/event.ts";
import { callsOf, textOf, type CallPart, type Node, type ResultPart } from "../../protocol/tree/node.ts";
import type { SessionView } from "../../protocol/tree/views.ts";
import { noteUpdates } from "./note-updates.ts";
import { planEntries } from "./plan-entries.ts";
import { StreamedText } from "./streamed-text.ts";
import { kindOf, locationsOf, resultContent, textContent, titleOf, toolCallId } from "./tool-calls.ts";

type OpenCall = { name: string; input: CallPart["input"] | null; output: string; shownAt: number };

/** A running call shows the end of its output, at most this often. */
const outputEveryMs = 250;
const maxOutput = 8 * 1024;

export class SessionUpdates {
  readonly #directory: string;
  /** Calls without a result, by their id in the protocol. */
  readonly #calls = new Map<string, OpenCall>();
  readonly #nodes = new Map<string, string>();
  #message = crypto.randomUUID() as string;
  #text = new StreamedText();
  #thinking = new StreamedText();
  #position = { seq: 0, n: 0 };
  /** The prompt that the client has sent itself and shows already. */
  #ownPrompt: string | null = null;
  #promptNode: string | null = null;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Call it before a turn starts. The node with this text is not sent back to the client. */
  expectPrompt(text: string): void {
    this.#ownPrompt = text;
    this.#promptNode = null;
  }

  /** The node of the last expected prompt; null before it was stored. */
  get promptNode(): string | null {
    return this.#promptNode;
  }

  /** The node of a message. A message that was loaded has the id of its node. */
  nodeOf(messageId: string): string {
    const [id = messageId] = messageId.split(":");
    return this.#nodes.get(id) ?? id;
  }

  /** The updates that repeat a session, with the streamed texts of a turn that still runs. */
  replay({ nodes, open, seq }: Pick<SessionView, "nodes" | "open" | "seq">): SessionUpdate[] {
    this.#position = { seq, n: 0 };
    const updates = nodes.flatMap((node) => this.#readNode(node));
    const drafts = open === null ? [] : open.drafts.flatMap(({ key, text }) => this.#readDraft(open.turn, key, text));
    if (open === null) updates.push(...this.#closeCalls());
    return [...updates, ...drafts];
  }

  read(event: Event): SessionUpdate[] {
    this.#trackPosition(event);
    switch (event.type) {
      case "node.added":
        return this.#readNode(event.node);
      case "text.delta":
        return chunk("agent_message_chunk", this.#text.append(event.text), this.#message);
      case "thinking.delta":
        return chunk("agent_thought_chunk", this.#thinking.append(event.text), thoughtId(this.#message));
      case "draft.shown":
        return this.#readDraft(event.turnId, event.key, event.text);
      case "call.started":
        return this.#openCall(toolCallId(event.turnId, event.call), event.name, null);
      case "tool.started":
        return this.#openCall(toolCallId(event.turnId, event.call), event.name, event.input);
      case "tool.output":
        return this.#readOutput(toolCallId(event.turnId, event.call), event.text, event.at);
      case "turn.ended":
        this.#resetStream();
        return this.#closeCalls();
      default:
        return [];
    }
  }

  /** Transient events are numbered. After a lost one the streamed texts pause until a draft or the node has all of it. */
  #trackPosition(event: Event): void {
    const { seq, n } = this.#position;
    if (!("n" in event)) this.#position = { seq: event.seq, n: 0 };
    else {
      const expected = event.seq === seq ? n + 1 : 1;
      if (event.type !== "draft.shown" && event.n > expected) {
        this.#text.pause();
        this.#thinking.pause();
      }
      this.#position = { seq: event.seq, n: event.n };
    }
  }

  #readDraft(turn: string, key: string, text: string): SessionUpdate[] {
    if (key === "text") return chunk("agent_message_chunk", this.#text.catchUp(text), this.#message);
    if (key === "thinking") return chunk("agent_thought_chunk", this.#thinking.catchUp(text), thoughtId(this.#message));
    const call = this.#calls.get(toolCallId(turn, key));
    if (call !== undefined) call.output = text.slice(-maxOutput);
    return [];
  }

  #readNode(node: Node): SessionUpdate[] {
    switch (node.author) {
      case "user":
        return this.#readUserNode(node);
      case "agent":
        return this.#readAgentNode(node);
      case "tool":
        return node.parts.flatMap((part) => (part.kind === "result" ? this.#readResult(node, part) : []));
      case "note":
        return noteUpdates(node);
    }
  }

  #readUserNode(node: Node): SessionUpdate[] {
    if (this.#ownPrompt !== null && textOf(node) === this.#ownPrompt) {
      this.#ownPrompt = null;
      this.#promptNode = node.id;
      return [];
    }
    return node.parts.flatMap((part) => {
      const content = userContent(part);
      return content === null ? [] : [{ sessionUpdate: "user_message_chunk" as const, content, messageId: node.id }];
    });
  }

  #readAgentNode(node: Node): SessionUpdate[] {
    const texts = (kind: "text" | "thinking") => node.parts.map((part) => (part.kind === kind ? part.text : "")).join("");
    const isStreamed = this.#text.hasSent || this.#thinking.hasSent;
    const message = isStreamed ? this.#message : node.id;
    this.#nodes.set(message, node.id);
    const thinking = this.#thinking.complete(texts("thinking"));
    const text = this.#text.complete(texts("text"));
    const updates = [
      ...chunk("agent_thought_chunk", thinking.rest, thoughtId(thinking.isOther ? node.id : message)),
      ...chunk("agent_message_chunk", text.rest, text.isOther ? node.id : message),
      ...callsOf(node).flatMap((call) => this.#readCall(node, call)),
    ];
    this.#resetStream();
    return updates;
  }

  #resetStream(): void {
    this.#message = crypto.randomUUID();
    this.#text = new StreamedText();
    this.#thinking = new StreamedText();
  }

  #readCall(node: Node, { id: callId, name, input }: CallPart): SessionUpdate[] {
    const id = toolCallId(node.turn, callId);
    const entries = planEntries(name, input);
    const plan: SessionUpdate[] = entries === null ? [] : [{ sessionUpdate: "plan", entries }];
    const open = this.#calls.get(id);
    if (open?.input !== null && open !== undefined) return plan;
    return [...this.#openCall(id, name, input), ...plan];
  }

  /** Announces a call, or completes the announcement when its input has arrived. */
  #openCall(id: string, name: string, input: CallPart["input"] | null): SessionUpdate[] {
    const known = this.#calls.get(id);
    if (known !== undefined && (known.input !== null || input === null)) return [];
    this.#calls.set(id, { name, input, output: known?.output ?? "", shownAt: 0 });
    const details =
      input === null
        ? { title: name }
        : { title: titleOf(name, input), locations: locationsOf(input, this.#directory), rawInput: input, status: "in_progress" as const };
    if (known !== undefined) return [{ sessionUpdate: "tool_call_update", toolCallId: id, ...details }];
    return [{ sessionUpdate: "tool_call", toolCallId: id, name, kind: kindOf(name), status: "pending", ...details }];
  }

  #readOutput(id: string, text: string, at: number): SessionUpdate[] {
    const call = this.#calls.get(id);
    if (call === undefined) return [];
    call.output = `${call.output}${text}`.slice(-maxOutput);
    if (at - call.shownAt < outputEveryMs) return [];
    call.shownAt = at;
    return [{ sessionUpdate: "tool_call_update", toolCallId: id, content: textContent(call.name, call.output) }];
  }

  #readResult(node: Node, result: ResultPart): SessionUpdate[] {
    const id = toolCallId(node.turn, result.call);
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    const part = call === undefined || call.input === null ? undefined : { name: call.name, input: call.input };
    const status = result.isError ? ("failed" as const) : ("completed" as const);
    const ended = { toolCallId: id, status, ...resultContent(part, result, this.#directory) };
    if (call !== undefined) return [{ sessionUpdate: "tool_call_update", ...ended }];
    return [{ sessionUpdate: "tool_call", title: result.name, name: result.name, kind: kindOf(result.name), ...ended }];
  }

  /** Calls of a turn that ended without their results. */
  #closeCalls(): SessionUpdate[] {
    const ids = [...this.#calls.keys()];
    this.#calls.clear();
    return ids.map((id) => ({ sessionUpdate: "tool_call_update", toolCallId: id, status: "failed" }));
  }
}

/** Thoughts are a message of their own in the protocol. */
function thoughtId(message: string): string {
  return `${message}:thinking`;
}

function chunk(sessionUpdate: "agent_message_chunk" | "agent_thought_chunk", text: string, messageId: string): SessionUpdate[] {
  return text === "" ? [] : [{ sessionUpdate, content: { type: "text", text }, messageId }];
}

function userContent(part: Node["parts"][number]): ContentBlock | null {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return { type: "image", mimeType: part.mime, data: part.base64 };
    case "handle":
      return { type: "text", text: part.excerpt };
    default:
      return null;
  }
}
