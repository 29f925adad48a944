// The native agent: what it is made of, and its row among the agents. The turn itself is in loop.ts.
import type { ModelEvent, ModelRequest } from "../../models/model.ts";
import { Fault } from "../../protocol/error.ts";
import type { Enforced, Policy } from "../../protocol/policy.ts";
import type { Agent, Executor } from "../../protocol/ports.ts";
import type { Usage } from "../../protocol/usage.ts";
import { checkTurn, takeTurn } from "./loop.ts";
import { preview } from "./preview.ts";

/** A model with everything it needs to be asked: `house` binds the endpoint, key and prices. */
export type BoundModel = {
  /** `vendor/id`, as recorded on nodes. */
  name: string;
  stream: (request: Omit<ModelRequest, "model" | "effort">, signal: AbortSignal) => AsyncIterable<ModelEvent>;
  /** What `stream` would send. */
  body: (request: Omit<ModelRequest, "model" | "effort">) => Promise<string>;
  price: (usage: Usage) => Promise<number | null>;
  window: () => Promise<number | null>;
};

export type NativeParts = {
  model: (name: string | null) => Promise<BoundModel>;
  /** Started on first use, or early by `warm`; never waited for before a tool is called. */
  executor: { warm: () => void; get: () => Executor };
  /** Added to what tools see of the environment. */
  toolEnv: Record<string, string>;
  contextFiles: (directory: string, project: string) => { path: string; text: string }[];
  skills: (directory: string, project: string) => { text: string; paths: string[] };
};

export function nativeAgent(parts: NativeParts): Agent {
  return {
    name: "native",
    takesTasks: true,
    check: (turn) => checkTurn(parts, turn),
    preview: (input) => preview(parts, input),
    takeTurn: (input, context) => takeTurn(parts, input, context),
    enforced: async (policy) => enforcedNow(policy),
  };
}

/** No walls are built yet: say so, and refuse what would be a promise without one. */
function enforcedNow(policy: Policy): Enforced {
  if (policy.sandbox === "required") {
    throw new Fault("sandbox-unavailable", `policy ${policy.name} can't be enforced by this version of skein`, {
      hint: "use --policy workspace --sandbox auto (not enforced), or --policy full",
    });
  }
  const missing = policy.name === "full" ? [] : ["fs", "net", "secrets", "processes"];
  return { policy: policy.name, tier: "none", fs: false, net: "on", secrets: false, processes: false, missing };
}
