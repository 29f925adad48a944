// A whole file with the turn that wrote each line: who, when and for which message. Lines by nobody are not by an agent.
import { useState } from "preact/hooks";
import { oneLine } from "../../../../kit/text/cut-text.ts";
import type { BlameReport } from "../../../../protocol/schema/views/blame-views.ts";
import { Problem } from "../../components/action.tsx";
import { agentColor } from "../../components/labels.tsx";
import { usePage } from "../../page-context.ts";
import { addressOf } from "../../route.ts";
import { usePolled } from "../../state/use-polled.ts";
import { plainText, showDirections } from "../../text/plain-text.ts";
import { exactTime } from "../../text/times.ts";

/** More lines are read only on request, so that a generated file does not stop the page. */
const linesAtOnce = 2_000;

type BlameTableProps = { path: string; directory: string; at: string };

export function BlameTable({ path, directory, at }: BlameTableProps) {
  const { line } = usePage();
  const [lineCount, setLineCount] = useState(linesAtOnce);
  const { value, problem } = usePolled(
    () => line.api.files.blame({ path, directory, at, from: 1, to: lineCount }),
    [path, directory, at, lineCount],
    null,
  );
  if (value === null) return problem === null ? <p class="faint loading">loading</p> : <Problem text={problem} />;
  return (
    <>
      {problem !== null && <Problem text={problem} />}
      <div class="diff-box" tabIndex={0} role="region" aria-label={`writers of ${showDirections(path)}`}>
        <table class="diff blame">
          <thead>
            <tr>
              <th scope="col">written by</th>
              <th scope="col">line</th>
              <th scope="col">text</th>
            </tr>
          </thead>
          <tbody>
            {value.lines.map((row, index) => (
              <tr key={row.line} class={isSameWriter(row, value.lines[index - 1]) ? "" : "first"}>
                <td class="writer">{isSameWriter(row, value.lines[index - 1]) ? "" : <Writer report={value} row={row} />}</td>
                <td class="other-line number faint">{row.line}</td>
                <td class="diff-text">{plainText(row.text)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {value.lines.length >= lineCount && (
        <button type="button" class="button" onClick={() => setLineCount(lineCount + linesAtOnce)}>
          Show more lines
        </button>
      )}
    </>
  );
}

type BlamedLine = BlameReport["lines"][number];

function isSameWriter(row: BlamedLine, above: BlamedLine | undefined): boolean {
  return above !== undefined && row.turns.join() === above.turns.join() && row.unclear === above.unclear;
}

function Writer({ report, row: { turns, unclear } }: { report: BlameReport; row: BlamedLine }) {
  if (turns.length === 0) return <span class="faint">not by an agent</span>;
  return (
    <>
      {turns.map((id) => {
        const turn = report.turns.find((each) => each.id === id);
        if (turn === undefined) return null;
        const { agent, model, session, prompt, startedAt } = turn;
        const title = `${agent}${model === null ? "" : ` ${model}`}, ${exactTime(startedAt)}: ${prompt ?? ""}`;
        return (
          <a
            key={id}
            class={`agent ${agentColor(agent)}`}
            href={addressOf("session", session)}
            title={showDirections(title.slice(0, 1_000))}
          >
            <span class="dot" aria-hidden="true" />
            <span class="agent-name">{showDirections(agent)}</span>
            <span class="model clamp">{showDirections(oneLine(prompt ?? "", 80))}</span>
          </a>
        );
      })}
      {unclear === true && <span class="faint">one of these</span>}
    </>
  );
}
