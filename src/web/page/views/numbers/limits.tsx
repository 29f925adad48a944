// Vendors' limits, as far as their answers report them: how much is used, and when each resets.
import { groupDigits } from "../../../../kit/text/cut-text.ts";
import { Problem } from "../../components/action.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { Ago } from "../../components/labels.tsx";
import { usePage } from "../../page-context.ts";
import { usePolled } from "../../state/use-polled.ts";
import { showDirections } from "../../text/plain-text.ts";
import { exactTime } from "../../text/times.ts";

const pollMs = 10_000;

export function Limits() {
  const { line } = usePage();
  const { value: limits, problem } = usePolled(() => line.api.limits.list(), [], pollMs);
  const rows = (limits ?? []).flatMap(({ source, credential, windows, seenAt }) =>
    windows.map((window) => ({
      key: `${source} ${credential} ${window.name}`,
      cells: [
        showDirections(source),
        showDirections(window.name),
        window.isUsedUp ? (
          <span class="state">used up</span>
        ) : window.used === null ? (
          ""
        ) : (
          <span class="row">
            <meter min={0} max={1} high={0.8} value={window.used} aria-label={`used part of ${window.name}`} />
            {`${Math.round(window.used * 100)} %`}
          </span>
        ),
        window.limit === null ? "" : `${window.remaining === null ? "?" : groupDigits(window.remaining)} of ${groupDigits(window.limit)}`,
        window.resetAt === null ? "" : exactTime(window.resetAt),
        <Ago at={seenAt} />,
      ],
    })),
  );
  return (
    <section aria-labelledby="limits">
      <h2 id="limits">Limits of vendors</h2>
      {problem !== null && <Problem text={problem} />}
      {limits !== null && rows.length === 0 && <p class="faint">No limit is known. Vendors report their limits with their answers.</p>}
      {rows.length > 0 && (
        <DataTable
          label="limits of vendors"
          columns={["vendor", "window", "used", "left", "resets", "seen"].map((title) => ({ title }))}
          rows={rows}
        />
      )}
    </section>
  );
}
