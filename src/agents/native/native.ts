// The native agent: what it is made of, and its row among the agents. The turn itself is in loop.ts.
import type { PauseGate } from "../../kit/flow/pause-gate.ts";
import type { ModelEvent, ModelRequest } from "../../models/model.ts";
import type { EnforcedPolicy, Policy } from "../../protocol/api/policy.ts";
import type { Agent, Executor, TurnInput } from "../../protocol/api/ports.ts";
import type { Usage } from "../../protocol/tree/usage.ts";
import { checkTurn, takeTurn } from "./loop.ts";
import { preview } from "./request/preview.ts";

/** A model with everything it needs to be asked: `house` binds the endpoint, key and prices. */
export type BoundModel = {
  /** `vendor/id`, as recorded on nodes. */
  name: string;
  stream: (request: Omit<ModelRequest, "model" | "effort">, signal: AbortSignal, pauseGate: PauseGate) => AsyncIterable<ModelEvent>;
  /** What `stream` would send. */
  body: (request: Omit<ModelRequest, "model" | "effort">) => Promise<string>;
  price: (usage: Usage) => Promise<number | null>;
  window: () => Promise<number | null>;
};

export type NativeAgentDeps = {
  model: (name: string | null) => Promise<BoundModel>;
  /** For this turn's policy; started when first asked for, never waited for before a tool is called. */
  executor: (turn: TurnInput) => Executor;
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
  /** Added to what tools see of the environment. */
  toolEnv: Record<string, string>;
  contextFiles: (directory: string, project: string) => { path: string; text: string }[];
  skills: (directory: string, project: string) => { text: string; paths: string[] };
};

export function nativeAgent(deps: NativeAgentDeps): Agent {
  return {
    name: "native",
    takesTasks: true,
    takesTools: true,
    check: (turn) => checkTurn(deps, turn),
    preview: (input) => preview(deps, input),
    takeTurn: (input, context) => takeTurn(deps, input, context),
    enforced: deps.enforced,
  };
}
