// What a CLI says that it has used, where no gateway counts: message by message as far as it tells, and its own total at
// the end. Some count the whole of their session; what earlier turns had is kept beside it and taken off.
import { parseJson } from "../../../models/wire/json.ts";
import { addSpent, subtractUsage, zeroSpent, zeroUsage, type Spent, type Usage } from "../../../protocol/tree/usage.ts";
import type { CliEvent } from "../adapters/adapter.ts";
import { readConfigFile, writeConfigFile } from "../process/config-files.ts";

export type ReportedEvent = Extract<CliEvent, { type: "session" | "answer" | "usage" }>;

export type ReportedUsageDeps = {
  /** Null when the price is not known. */
  price: (model: string, usage: Usage) => Promise<number | null>;
  /** The configuration directory, which is the same for every turn of the CLI's session. */
  configDir: string;
  /** The session that is resumed or forked. */
  nativeSession: string | null;
};

const file = "skein-totals.json";

export class ReportedUsage {
  spent: Spent = zeroSpent;
  answers = 0;
  readonly #parts: ReportedUsageDeps;
  #session: string | null = null;

  constructor(deps: ReportedUsageDeps) {
    this.#parts = deps;
  }

  async take(event: ReportedEvent, model: string | null): Promise<void> {
    if (event.type === "session") this.#session = event.id;
    else if (event.type === "answer") {
      this.answers += 1;
      if (event.usage !== undefined) this.spent = addSpent(this.spent, await this.#priced(event.usage, event.model ?? model));
    } else {
      const usage = event.isThreadTotal ? this.#ofThisTurn(event.usage) : event.usage;
      this.spent = event.costUsd === undefined ? await this.#priced(usage, model) : { usage, costUsd: event.costUsd };
    }
  }

  async #priced(usage: Usage, model: string | null): Promise<Spent> {
    return { usage, costUsd: model === null ? null : await this.#parts.price(model, usage) };
  }

  #ofThisTurn(total: Usage): Usage {
    const totals = this.#totals();
    const before = totals[this.#parts.nativeSession ?? ""] ?? zeroUsage;
    if (this.#session !== null) writeConfigFile(this.#parts.configDir, file, JSON.stringify({ ...totals, [this.#session]: total }));
    // A count that began anew holds nothing of what was before.
    return total.input < before.input || total.output < before.output ? total : subtractUsage(total, before);
  }

  #totals(): Record<string, Usage> {
    return (parseJson(readConfigFile(this.#parts.configDir, file) ?? "{}") ?? {}) as Record<string, Usage>;
  }
}
