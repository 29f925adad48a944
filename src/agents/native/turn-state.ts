// What one native turn knows, and the one way a node gets onto its path.
import type { PauseGate } from "../../kit/flow/pause-gate.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { NewNode, Node } from "../../protocol/tree/node.ts";
import type { AgentEvent, ToolDefinition, TurnContext, TurnInput } from "../../protocol/api/ports.ts";
import type { Spent, Usage } from "../../protocol/tree/usage.ts";
import type { BoundModel, NativeAgentDeps } from "./native.ts";

/** Everything that stays the same, and the path that grows, during one turn. */
export type LoopState = {
  input: TurnInput;
  context: TurnContext;
  /** Shut while the turn stands still. */
  gate: PauseGate;
  parts: NativeAgentDeps;
  model: BoundModel;
  system: string;
  tools: ToolDefinition[];
  skillPaths: string[];
  path: Node[];
  steps: number;
  /** What was used and stands on no node: requests of which nothing is left. */
  unrecorded: Spent;
};

export async function priceUsage({ model }: LoopState, usage: Usage): Promise<Spent> {
  return { usage, costUsd: await model.price(usage) };
}

export function agentNode(state: LoopState, parts: NewNode["parts"], spent: Spent): NewNode {
  state.steps += 1;
  return { author: "agent", parts, model: state.model.name, ...spent };
}

/** Yields the node to be recorded, and then keeps it on our own copy of the path. */
export async function* addNode(state: LoopState, node: NewNode): AsyncGenerator<AgentEvent> {
  let recorded: Node | undefined;
  yield { type: "node", node, recorded: (stored) => (recorded = stored) };
  if (recorded === undefined) throw new Fault("internal", "a node was not recorded");
  state.path.push(recorded);
}
