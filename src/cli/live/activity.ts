// Derives from the events of a session what it does now: the awaited model, running calls, a snapshot. It prints nothing.
import type { Event } from "../../protocol/tree/event.ts";
import { callsOf, mainArgument, type Node } from "../../protocol/tree/node.ts";
import { OutputTail } from "./output-tail.ts";

export type RunningCall = { name: string; argument: string; since: number; isStarted: boolean; tail: OutputTail };

export class Activity {
  /** The model, or the agent of a turn without one; null while no turn runs. */
  who: string | null = null;
  /** Since when the model has sent nothing; null while a tool runs. */
  waitingSince: number | null = null;
  thinkingSince: number | null = null;
  /** True while the text of an answer arrives. */
  isStreaming = false;
  /** True if the latest answer asks for no call. Then the turn is about to end, unless the agent continues. */
  isAnswered = false;
  recordingSince: number | null = null;
  isPaused = false;
  readonly asks = new Set<string>();
  readonly calls = new Map<string, RunningCall>();
  /** The streaming text and the output of calls. */
  readonly tail = new OutputTail();
  #hasModel = false;

  apply(event: Event): void {
    const { at } = event;
    switch (event.type) {
      case "turn.started":
        this.who = event.turn.model ?? event.turn.agent;
        this.#hasModel = event.turn.agent !== "shell";
        this.#wait(at);
        break;
      case "turn.ended":
        this.#end();
        break;
      case "node.added":
        this.#addNode(event.node, at);
        break;
      case "text.delta":
        this.tail.push(event.text);
        this.#wait(at);
        this.isStreaming = true;
        break;
      case "thinking.delta": {
        const since = this.thinkingSince ?? at;
        this.#wait(at);
        this.thinkingSince = since;
        break;
      }
      case "call.started":
      case "model.retried":
        this.#wait(at);
        break;
      case "tool.started":
        this.#startCall(event.call, { name: event.name, argument: mainArgument(event.input), since: at, isStarted: true });
        break;
      case "tool.output":
        this.#addOutput(event.call, event.text);
        break;
      case "draft.shown":
        if (event.key === "text") this.tail.push(event.text);
        else this.#addOutput(event.key, event.text);
        break;
      case "tool.exited":
        this.#endCall(event.call, at);
        break;
      case "snapshot.started":
        this.recordingSince = at;
        break;
      case "snapshot.ended":
        this.recordingSince = null;
        break;
      case "turn.paused":
      case "turn.resumed":
        this.isPaused = event.type === "turn.paused";
        break;
      case "ask.opened":
        this.asks.add(event.ask.id);
        break;
      case "ask.closed":
        this.asks.delete(event.ask.id);
        break;
      default:
    }
  }

  #wait(at: number): void {
    this.waitingSince = this.#hasModel ? at : null;
    this.thinkingSince = null;
    this.isStreaming = false;
    this.isAnswered = false;
  }

  #end(): void {
    this.who = null;
    this.#hasModel = false;
    this.#wait(0);
    this.recordingSince = null;
    this.isPaused = false;
    this.asks.clear();
    this.calls.clear();
  }

  #addNode(node: Node, at: number): void {
    for (const { id, name, input } of callsOf(node))
      if (!this.calls.has(id)) this.#startCall(id, { name, argument: mainArgument(input), since: at, isStarted: false });
    for (const part of node.parts) if (part.kind === "result") this.#endCall(part.call, at);
    if (node.author !== "agent") return;
    if (this.calls.size === 0) this.#wait(at);
    this.isStreaming = false;
    this.thinkingSince = null;
    this.isAnswered = this.calls.size === 0;
  }

  #startCall(id: string, call: Omit<RunningCall, "tail">): void {
    this.calls.set(id, { ...call, tail: new OutputTail() });
    this.waitingSince = null;
  }

  #addOutput(id: string, text: string): void {
    this.calls.get(id)?.tail.push(text);
    this.tail.push(text);
  }

  #endCall(id: string, at: number): void {
    this.calls.delete(id);
    if (this.calls.size === 0) this.#wait(at);
  }
}
