// The rows of the tree with their lines. All rows have one height, and only the visible ones are in the document.
import { useEffect, useRef, useState } from "preact/hooks";
import { sessionLabel } from "../../../../protocol/tree/turn.ts";
import { agentColor } from "../../components/labels.tsx";
import { showDirections } from "../../text/plain-text.ts";
import type { TreeLine, TreePoint } from "./tree-layout.ts";

export type TreePictureProps = {
  points: readonly TreePoint[];
  selected: string | null;
  onSelect: (point: TreePoint) => void;
};

const rowPx = 40;
const lanePx = 18;
const marginRows = 20;

export function TreePicture({ points, selected, onSelect }: TreePictureProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 900 });
  const measure = () => {
    const element = scroller.current;
    if (element !== null) setView({ top: element.scrollTop, height: element.clientHeight });
  };
  useEffect(() => {
    const element = scroller.current;
    // An effect may run after the view was closed.
    if (element === null) return;
    // The latest work is at the end.
    element.scrollTop = element.scrollHeight;
    measure();
  }, [points.length === 0]);
  const first = Math.max(0, Math.floor(view.top / rowPx) - marginRows);
  const shown = points.slice(first, Math.ceil((view.top + view.height) / rowPx) + marginRows);
  const lanes = shown.reduce((most, { lane, lines }) => Math.max(most, lane, ...lines.map((line) => line.lane)), 0) + 1;
  return (
    <div ref={scroller} class="tree-picture" onScroll={measure} tabIndex={0} role="group" aria-label={`tree with ${points.length} rows`}>
      <div style={{ height: `${points.length * rowPx}px`, position: "relative" }}>
        <div style={{ position: "absolute", top: `${first * rowPx}px`, left: 0, right: 0 }}>
          {shown.map((point) => (
            <button
              key={point.id}
              type="button"
              data-row
              class={`tree-row ${point.isOnPath ? "" : "off-path"}`}
              aria-pressed={point.id === selected}
              onClick={() => onSelect(point)}
            >
              <Lines point={point} lanes={lanes} />
              <span class="tree-who">{point.isUser ? "you" : (point.agent ?? "note")}</span>
              <span class="tree-text">
                {showDirections(point.text.slice(0, 200))}
                {point.calls > 0 && <span class="faint">{` · ${point.calls} ${point.calls === 1 ? "call" : "calls"}`}</span>}
              </span>
              {point.sessions.map((session) => (
                <span key={session.id} class="tip">
                  {showDirections(sessionLabel(session))}
                </span>
              ))}
            </button>
          ))}
        </div>
      </div>
    </div>
  );
}

function Lines({ point, lanes }: { point: TreePoint; lanes: number }) {
  return (
    <svg class="tree-lines" width={lanes * lanePx} height={rowPx} aria-hidden="true">
      {point.lines.map((line) => (
        <path key={`${line.kind} ${line.lane} ${line.from}`} class={colorOf(line.agent)} d={pathOf(line)} />
      ))}
      <circle class={colorOf(point.agent)} cx={middleOf(point.lane)} cy={rowPx / 2} r={point.isUser ? 3.5 : 5.5} />
    </svg>
  );
}

function colorOf(agent: string | null): string {
  return agent === null ? "agent-9" : agentColor(agent);
}

function middleOf(lane: number): number {
  return lane * lanePx + lanePx / 2;
}

function pathOf({ kind, lane, from }: TreeLine): string {
  const x = middleOf(lane);
  const middle = rowPx / 2;
  switch (kind) {
    case "through":
      return `M${x} 0V${rowPx}`;
    case "start":
      return `M${x} ${middle}V${rowPx}`;
    case "end":
      return `M${x} 0V${middle}`;
    case "fork":
      return `M${middleOf(from)} ${middle}C${x} ${middle} ${x} ${middle} ${x} ${rowPx}`;
  }
}
