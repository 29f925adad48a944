// Sums up the usage that a CLI prints, for turns that no gateway counts. A total at the end replaces the sum of the
// messages. Some CLIs print the total of their whole session, so the total of earlier turns is saved and subtracted.
import { parseJson } from "../../../models/wire/json.ts";
import { addSpent, subtractUsage, zeroSpent, zeroUsage, type Spent, type Usage } from "../../../protocol/tree/usage.ts";
import type { CliEvent } from "../adapters/adapter.ts";
import { readConfigFile, writeConfigFile } from "../process/config-files.ts";

export type ReportedEvent = Extract<CliEvent, { type: "session" | "answer" | "usage" }>;

export type ReportedUsageDeps = {
  /** Resolves to null when the price is unknown. */
  price: (model: string, usage: Usage) => Promise<number | null>;
  /** The configuration directory, which is the same for every turn of the CLI's session. */
  configDir: string;
  /** Id of the CLI's own session to resume or fork; null starts a new one. */
  cliSession: string | null;
};

const totalsFile = "skein-totals.json";

export class ReportedUsage {
  spent: Spent = zeroSpent;
  answers = 0;
  readonly #deps: ReportedUsageDeps;
  #session: string | null = null;

  constructor(deps: ReportedUsageDeps) {
    this.#deps = deps;
  }

  async add(event: ReportedEvent, model: string | null): Promise<void> {
    if (event.type === "session") this.#session = event.id;
    else if (event.type === "answer") {
      this.answers += 1;
      if (event.usage !== undefined) this.spent = addSpent(this.spent, await this.#toSpent(event.usage, event.model ?? model));
    } else {
      const usage = event.isThreadTotal ? this.#usageOfTurn(event.usage) : event.usage;
      this.spent = event.costUsd === undefined ? await this.#toSpent(usage, model) : { usage, costUsd: event.costUsd };
    }
  }

  async #toSpent(usage: Usage, model: string | null): Promise<Spent> {
    return { usage, costUsd: model === null ? null : await this.#deps.price(model, usage) };
  }

  #usageOfTurn(total: Usage): Usage {
    const totals = (parseJson(readConfigFile(this.#deps.configDir, totalsFile) ?? "") ?? {}) as Record<string, Usage>;
    const before = totals[this.#deps.cliSession ?? ""] ?? zeroUsage;
    if (this.#session !== null) writeConfigFile(this.#deps.configDir, totalsFile, JSON.stringify({ ...totals, [this.#session]: total }));
    // A smaller total means that the CLI restarted its count.
    return total.input < before.input || total.output < before.output ? total : subtractUsage(total, before);
  }
}
