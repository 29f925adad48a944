// Cost and tokens over time by agent, model or project, vendors' limits and when they reset, and budgets.
import { useMemo, useState } from "preact/hooks";
import { shortCount } from "../../../../kit/text/cut-text.ts";
import { costText, dollarsText, totalInput } from "../../../../protocol/tree/usage-text.ts";
import { Problem } from "../../components/action.tsx";
import { DataTable, type Column } from "../../components/data-table.tsx";
import { agentColor } from "../../components/labels.tsx";
import { usePage } from "../../page-context.ts";
import { usePolled } from "../../state/use-polled.ts";
import { showDirections } from "../../text/plain-text.ts";
import { Budgets } from "./budgets.tsx";
import { Chart, stepText } from "./chart.tsx";
import { Limits } from "./limits.tsx";
import { otherKeys, periods, periodStart, periodSteps, seriesOf, type KeySeries, type Measure, type Period } from "./series.ts";

const pollMs = 30_000;
const units = ["agent", "model", "project"] as const;
type Unit = (typeof units)[number];

export function NumbersView() {
  const [by, setBy] = useState<Unit>("agent");
  const [period, setPeriod] = useState<Period>(periods[2]!);
  const [measure, setMeasure] = useState<Measure>("cost");
  return (
    <div class="numbers">
      <h1 class="hidden">Numbers</h1>
      <section aria-labelledby="spent">
        <div class="row wrap">
          <h2 id="spent">Spent</h2>
          <span class="end row wrap">
            <Choice label="measure" value={measure} options={["cost", "tokens"]} onChange={setMeasure} />
            <Choice label="by" value={by} options={units} onChange={setBy} />
            <label class="field">
              <span>of the last</span>
              <select
                class="input small"
                value={period.name}
                onChange={(event) => setPeriod(periods.find(({ name }) => name === event.currentTarget.value)!)}
              >
                {periods.map(({ name, title }) => (
                  <option key={name} value={name}>
                    {title}
                  </option>
                ))}
              </select>
            </label>
          </span>
        </div>
        <Spending key={`${by} ${period.name}`} by={by} period={period} measure={measure} />
      </section>
      <Limits />
      <Budgets />
    </div>
  );
}

type ChoiceProps<Value extends string> = {
  label: string;
  value: Value;
  options: readonly Value[];
  onChange: (value: Value) => void;
};

function Choice<Value extends string>({ label, value, options, onChange }: ChoiceProps<Value>) {
  return (
    <label class="field">
      <span>{label}</span>
      <select class="input small" aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}

type SpendingProps = { by: Unit; period: Period; measure: Measure };

function Spending({ by, period, measure }: SpendingProps) {
  const { line } = usePage();
  const { zone } = useMemo(() => ({ zone: Intl.DateTimeFormat().resolvedOptions().timeZone }), []);
  const { value, problem } = usePolled(
    async () => {
      const now = Date.now();
      const points = await line.api.usage.series({ by, step: period.step, since: periodStart(period, now), zone, project: null });
      return { points, starts: periodSteps(period, now) };
    },
    [by, period],
    pollMs,
  );
  const series = useMemo(() => (value === null ? [] : seriesOf(value.points, value.starts, measure)), [value, measure]);
  if (problem !== null) return <Problem text={problem} />;
  if (value === null) return <p class="faint loading">loading</p>;
  if (series.length === 0) return <p class="faint">No turn in this time.</p>;
  const keys = series.map(({ key }) => key);
  const colorClass = (key: string) => (key === "axis" || key === "grid" ? key : colorOf(by, key, keys));
  const most = Math.max(...series.flatMap(({ values }) => values));
  const format = measure === "cost" ? (dollars: number) => dollarsText(dollars, { digits: digitsFor(most) }) : shortCount;
  const label = `${measure} by ${by} for each ${period.step} of the last ${period.title}; the table has the same figures`;
  return (
    <>
      <Chart starts={value.starts} series={series} step={period.step} colorClass={colorClass} format={format} label={label} />
      <Totals by={by} series={series} colorClass={colorClass} />
      <details class="steps">
        <summary>{`Each ${period.step} as a table`}</summary>
        <DataTable
          label={`each ${period.step}`}
          columns={[{ title: period.step }, ...series.map(({ key }): Column => ({ title: keyText(by, key), align: "right" }))]}
          rows={value.starts.map((start, index) => ({
            key: String(start),
            cells: [stepText(start, period.step), ...series.map(({ values }) => format(values[index]!))],
          }))}
        />
      </details>
    </>
  );
}

const totalColumns: readonly Column[] = [
  { title: "turns", align: "right" },
  { title: "input", align: "right" },
  { title: "cached", align: "right" },
  { title: "output", align: "right" },
  { title: "cost", align: "right" },
];

function Totals({ by, series, colorClass }: { by: Unit; series: readonly KeySeries[]; colorClass: (key: string) => string }) {
  const rows = series.map(({ key, turns, spent }) => ({
    key,
    cells: [
      <span class={`agent ${colorClass(key)}`}>
        <span class="dot" aria-hidden="true" />
        <span class="agent-name">{keyText(by, key)}</span>
      </span>,
      turns,
      shortCount(totalInput(spent.usage)),
      shortCount(spent.usage.cacheRead),
      shortCount(spent.usage.output),
      costText(spent, { digits: digitsFor(spent.costUsd ?? 0) }),
    ],
  }));
  return <DataTable label={`sums by ${by}`} columns={[{ title: by }, ...totalColumns]} rows={rows} />;
}

function digitsFor(dollars: number): number {
  return dollars > 0 && dollars < 1 ? 4 : 2;
}

/** Agents have the colour that they have everywhere. Models and projects have those of their places. */
function colorOf(by: Unit, key: string, keys: readonly string[]): string {
  if (key === otherKeys) return "agent-9";
  return by === "agent" ? agentColor(key) : `agent-${keys.indexOf(key)}`;
}

function keyText(by: Unit, key: string): string {
  return showDirections(by === "project" ? (key.split("/").at(-1) ?? key) : key);
}
