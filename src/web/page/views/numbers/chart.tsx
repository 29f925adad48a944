// Bars over time, drawn by uPlot. The table below the chart has the same figures as text.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { UsageStep } from "../../../../protocol/schema/views/usage-views.ts";
import { useMedia } from "../../state/use-media.ts";
import { showDirections } from "../../text/plain-text.ts";
import { stacked, type KeySeries } from "./series.ts";

type ChartProps = {
  starts: readonly number[];
  series: readonly KeySeries[];
  step: UsageStep;
  /** The class of a key's colour. */
  colorClass: (key: string) => string;
  format: (value: number) => string;
  label: string;
};

const heightPx = 260;

export function Chart({ starts, series, step, colorClass, format, label }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  // The chart is drawn again when the system switches between light and dark.
  const isDark = useMedia("(prefers-color-scheme: dark)");
  useEffect(() => {
    const element = box.current;
    // An effect may run after the view was closed.
    if (element === null) return undefined;
    const plot = new uPlot(
      optionsOf({ starts, series, step, format, width: element.clientWidth, colorOf: (key) => colorOfClass(element, colorClass(key)) }),
      [starts.map((start) => start / 1000), ...stacked(series)],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: heightPx }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [starts, series, step, isDark]);
  return <div ref={box} class="chart" role="img" aria-label={label} />;
}

type PlotRequest = {
  starts: readonly number[];
  series: readonly KeySeries[];
  step: UsageStep;
  format: (value: number) => string;
  width: number;
  colorOf: (key: string) => string;
};

function optionsOf({ starts, series, step, format, width, colorOf }: PlotRequest): uPlot.Options {
  const bars = uPlot.paths.bars!({ size: [0.7, 60] });
  const axis = { stroke: colorOf("axis"), grid: { stroke: colorOf("grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  const [first, last] = [starts[0]! / 1000, starts.at(-1)! / 1000];
  const margin = starts.length > 1 ? (last - first) / (starts.length - 1) / 1.6 : 43_200;
  return {
    width,
    height: heightPx,
    legend: { show: false },
    cursor: { drag: { setScale: false } },
    scales: { x: { time: true, range: [first - margin, last + margin] }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        values: (_, ticks) => ticks.map((tick) => stepText(tick * 1000, step)),
        space: 56,
        // The chart's width now: the window may have been made smaller.
        splits: (plot) =>
          starts.filter((_, index) => index % Math.ceil(starts.length / Math.max(3, plot.width / 70)) === 0).map((start) => start / 1000),
      },
      { ...axis, values: (_, ticks) => ticks.map(format), size: 62 },
    ],
    series: [
      {},
      ...series.toReversed().map(({ key }) => ({
        label: showDirections(key),
        paths: bars,
        points: { show: false },
        fill: colorOf(key),
        stroke: colorOf(key),
        width: 0,
      })),
    ],
  };
}

const formats: Record<UsageStep, Intl.DateTimeFormat> = {
  hour: new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" }),
  day: new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" }),
  week: new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" }),
  month: new Intl.DateTimeFormat(undefined, { month: "short", year: "2-digit" }),
};

export function stepText(at: number, step: UsageStep): string {
  return formats[step].format(at);
}

/** The colour that the stylesheet has for a class, because a canvas has no classes. */
function colorOfClass(parent: HTMLElement, name: string): string {
  const sample = document.createElement("span");
  sample.className = `chart-color ${name}`;
  parent.append(sample);
  const { color } = getComputedStyle(sample);
  sample.remove();
  return color;
}
