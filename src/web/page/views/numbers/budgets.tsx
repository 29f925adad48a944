// Budgets: what is left of those of running turns, and the ones that every new turn gets.
import { shortCount } from "../../../../kit/text/cut-text.ts";
import { sessionLabel } from "../../../../protocol/tree/turn.ts";
import { dollarsText } from "../../../../protocol/tree/usage-text.ts";
import { Problem } from "../../components/action.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { AgentLabel, CostLabel } from "../../components/labels.tsx";
import { usePage } from "../../page-context.ts";
import { addressOf } from "../../route.ts";
import { usePolled } from "../../state/use-polled.ts";
import { showDirections } from "../../text/plain-text.ts";

const pollMs = 3_000;
/** Config keys of the budget that every new turn gets. */
const budgetKeys = ["max_budget_usd", "max_tokens", "max_steps"];

export function Budgets() {
  const { line } = usePage();
  const { value: turns, problem } = usePolled(() => line.api.turn.list({ endedSince: null }), [], pollMs);
  const { value: config } = usePolled(() => line.api.config.show(), [], null);
  const defaults = config?.filter(({ key, value }) => budgetKeys.includes(key) && value !== null && value !== undefined);
  const limited = (turns ?? []).filter(({ left }) => left !== undefined);
  return (
    <section aria-labelledby="budgets">
      <h2 id="budgets">Budgets</h2>
      {problem !== null && <Problem text={problem} />}
      {defaults !== undefined && (
        <p class="faint">
          {defaults.length === 0
            ? "New turns have no budget. A default is set with: skein config set max_budget_usd 5"
            : `New turns: ${defaults.map(({ key, value: limit }) => `${key} ${String(limit)}`).join(", ")}`}
        </p>
      )}
      {limited.length > 0 && (
        <DataTable
          label="budgets of running turns"
          columns={[{ title: "session" }, { title: "agent" }, { title: "spent", align: "right" }, { title: "left", align: "right" }]}
          rows={limited.map(({ session, turn, left }) => ({
            key: turn.id,
            cells: [
              <a href={addressOf("session", session.id)}>{showDirections(sessionLabel(session))}</a>,
              <AgentLabel agent={turn.agent} model={turn.model} />,
              <CostLabel {...turn} />,
              leftText(left!),
            ],
          }))}
        />
      )}
    </section>
  );
}

function leftText({ tokens, costUsd }: { tokens: number | null; costUsd: number | null }): string {
  return [...(costUsd === null ? [] : [dollarsText(costUsd)]), ...(tokens === null ? [] : [`${shortCount(tokens)} tokens`])].join(", ");
}
