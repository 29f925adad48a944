// What one native turn knows, and the one way a node gets onto its path.
import { Fault } from "../../protocol/error.ts";
import type { NewNode, Node } from "../../protocol/node.ts";
import type { AgentEvent, ToolDefinition, TurnContext, TurnInput } from "../../protocol/ports.ts";
import { addUsage, type Usage } from "../../protocol/usage.ts";
import type { Spending } from "./budget.ts";
import type { BoundModel, NativeParts } from "./native.ts";

/** Everything that stays the same, and the path that grows, during one turn. */
export type TurnState = {
  input: TurnInput;
  context: TurnContext;
  parts: NativeParts;
  model: BoundModel;
  system: string;
  tools: ToolDefinition[];
  skillPaths: string[];
  path: Node[];
  spending: Spending;
};

export async function agentNode(state: TurnState, parts: NewNode["parts"], usage: Usage): Promise<NewNode> {
  const costUsd = await state.model.price(usage);
  state.spending = {
    usage: addUsage(state.spending.usage, usage),
    costUsd: state.spending.costUsd + (costUsd ?? 0),
    steps: state.spending.steps + 1,
  };
  return { author: "agent", parts, model: state.model.name, usage, costUsd };
}

/** Yields the node to be recorded, and then keeps it on our own copy of the path. */
export async function* addNode(state: TurnState, node: NewNode): AsyncGenerator<AgentEvent> {
  let recorded: Node | undefined;
  yield { type: "node", node, recorded: (stored) => (recorded = stored) };
  if (recorded === undefined) throw new Fault("internal", "a node was not recorded");
  state.path.push(recorded);
}
