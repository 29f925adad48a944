// The state of one native turn, and the only function that adds a node to its path.
import type { PauseGate } from "../../kit/flow/pause-gate.ts";
import type { KeptRequest, Message } from "../../models/model.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { NewNode, Node, Part } from "../../protocol/tree/node.ts";
import type { AgentEvent, ToolDefinition, TurnContext, TurnInput, TurnServers } from "../../protocol/api/ports.ts";
import type { Spent, Usage } from "../../protocol/tree/usage.ts";
import type { ConfiguredModel, NativeAgentDeps } from "./native-agent.ts";

/** Only `path`, `kept`, `steps` and `unrecorded` change during a turn. */
export type LoopState = {
  input: TurnInput;
  context: TurnContext;
  /** Closed while the turn is paused. */
  pauseGate: PauseGate;
  deps: NativeAgentDeps;
  model: ConfiguredModel;
  system: string;
  tools: ToolDefinition[];
  skillPaths: string[];
  /** Null for a turn without MCP servers. */
  servers: TurnServers | null;
  path: Node[];
  renderMessages: (path: Node[]) => Message[];
  /** The text of the last request, see `ModelRequest`. */
  kept: KeptRequest;
  steps: number;
  /** Usage of failed requests that left no node. */
  unrecorded: Spent;
};

/** Some servers use one id for all calls of a message. Each call needs its own id, or a result would be lost. */
export function withDistinctIds(parts: Part[]): Part[] {
  const usedIds = new Set<string>();
  return parts.map((part) => {
    if (part.kind !== "call") return part;
    let id = part.id;
    for (let n = 2; usedIds.has(id); n++) id = `${part.id}-${n}`;
    usedIds.add(id);
    return id === part.id ? part : { ...part, id };
  });
}

export async function priceUsage({ model }: LoopState, usage: Usage): Promise<Spent> {
  return { usage, costUsd: await model.price(usage) };
}

export function agentNode(state: LoopState, parts: NewNode["parts"], spent: Spent): NewNode {
  state.steps += 1;
  return { author: "agent", parts, model: state.model.name, ...spent };
}

/** Yields the node, so that the engine stores it, and then appends the stored node to the path. */
export async function* addNode(state: LoopState, node: NewNode): AsyncGenerator<AgentEvent> {
  let stored: Node | undefined;
  yield { type: "node", node, recorded: (recorded) => (stored = recorded) };
  if (stored === undefined) throw new Fault("internal", "a node was not recorded");
  state.path.push(stored);
}
