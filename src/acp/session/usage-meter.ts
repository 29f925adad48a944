// Context and cost of a session for the client: the tokens of the last answer, the window of its model, and all costs so far.
import type { UsageUpdate } from "@agentclientprotocol/sdk";
import type { ModelInfo } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import { roundUsd, withSubSessions } from "../../protocol/tree/usage.ts";
import { totalInput } from "../../protocol/tree/usage-text.ts";

export class UsageMeter {
  /** Costs of ended turns, and of the running one. */
  #endedUsd = 0;
  #runningUsd = 0;
  #used: { tokens: number; model: string } | null = null;
  #sent = "";

  constructor(turns: readonly Turn[] = [], nodes: readonly Node[] = []) {
    for (const turn of turns) if (turn.endedAt !== null) this.#endedUsd += withSubSessions(turn).costUsd ?? 0;
    for (const node of nodes) this.#readNode(node);
  }

  read(event: Event): void {
    if (event.type === "node.added" && event.node.usage !== undefined) {
      this.#readNode(event.node);
      this.#runningUsd += event.node.costUsd ?? 0;
    }
    if (event.type !== "turn.ended") return;
    const { below } = event;
    this.#endedUsd += withSubSessions({ ...event.turn, ...(below === undefined ? {} : { below }) }).costUsd ?? 0;
    this.#runningUsd = 0;
  }

  /** Null if nothing changed since the last call, before the first answer, and if the window of the model is not known. */
  update(models: readonly ModelInfo[]): UsageUpdate | null {
    const used = this.#used;
    const size = models.find(({ name }) => name === used?.model)?.contextWindow ?? null;
    if (used === null || size === null) return null;
    const update: UsageUpdate = { used: used.tokens, size, cost: { amount: roundUsd(this.#endedUsd + this.#runningUsd), currency: "USD" } };
    if (JSON.stringify(update) === this.#sent) return null;
    this.#sent = JSON.stringify(update);
    return update;
  }

  #readNode({ author, usage, model }: Node): void {
    if (author === "agent" && usage !== undefined && model !== undefined) this.#used = { tokens: totalInput(usage) + usage.output, model };
  }
}
