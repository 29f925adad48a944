// A loop: its task, the command that ends it, and its passes with the outcome of the check.
import { useState } from "preact/hooks";
import { shortCount } from "../../../../kit/text/cut-text.ts";
import { formatDuration } from "../../../../kit/text/duration.ts";
import type { LoopPass } from "../../../../protocol/schema/views/loop-views.ts";
import { costText, totalInput } from "../../../../protocol/tree/usage-text.ts";
import { Action, Problem } from "../../components/action.tsx";
import { DataTable, type Column } from "../../components/data-table.tsx";
import { AgentLabel, CostLabel, StateLabel } from "../../components/labels.tsx";
import { usePage } from "../../page-context.ts";
import { usePolled } from "../../state/use-polled.ts";
import { plainText, showDirections } from "../../text/plain-text.ts";
import type { SessionViewProps } from "../index.ts";

const pollMs = 2_000;
const maxOutputBytes = 200_000;

const columns: readonly Column[] = [
  { title: "pass" },
  { title: "agent" },
  { title: "check" },
  { title: "files" },
  { title: "tokens", align: "right" },
  { title: "cost", align: "right" },
  { title: "time", align: "right" },
  { title: "output" },
];

export function LoopView({ id }: SessionViewProps) {
  const { line } = usePage();
  const { value: loop, problem, refresh } = usePolled(() => line.api.loop.show({ session: id }), [id], pollMs);
  const [output, setOutput] = useState<{ title: string; text: string } | null>(null);
  if (loop === null) return problem === null ? <p class="faint loading">loading</p> : <Problem text={problem} />;
  const showOutput = async ({ pass, output: handle }: LoopPass) => {
    // A handle is named <source>:<identifier>. The output of a command is its own stored copy.
    const identifier = handle!.slice(handle!.indexOf(":") + 1);
    const { content } = await line.api.handle.resolve({ identifier, maxBytes: maxOutputBytes, as: "text" });
    setOutput({ title: pass === 0 ? "the first check" : `the check after pass ${pass}`, text: plainText(content) });
  };
  return (
    <div class="board">
      {problem !== null && <Problem text={problem} />}
      <div class="facts">
        <StateLabel state={loop.reason === "passed" ? "passed" : (loop.reason ?? loop.state)} />
        <span>
          until <code>{showDirections(loop.until)}</code>
        </span>
        <span class="number">{`${Math.max(0, loop.passes.length - 1)} of ${loop.maxRuns} passes`}</span>
        <CostLabel {...loop} />
        <span class="number">{formatDuration(loop.durationMs)}</span>
      </div>
      <p class="clamp">{showDirections(loop.task)}</p>
      {loop.why !== null && <p>{showDirections(loop.why)}</p>}
      {loop.state === "running" && (
        <span class="buttons">
          <Action tone="danger" label="stop the loop" run={() => line.api.turn.cancel({ session: id }).then(refresh)}>
            Stop
          </Action>
        </span>
      )}
      <DataTable
        label="passes of the loop"
        columns={columns}
        rows={loop.passes.map((pass) => ({ key: String(pass.pass), cells: cellsOf(pass, () => showOutput(pass)) }))}
      />
      {output !== null && (
        <section aria-label="output of a check">
          <h2>{`Output of ${output.title}`}</h2>
          <pre class="output" tabIndex={0}>
            {output.text}
          </pre>
        </section>
      )}
    </div>
  );
}

/** Pass 0 is the check before the first pass. It has no agent and no cost. */
function cellsOf(loopPass: LoopPass, onOutput: () => Promise<void>) {
  const { pass, agent, model, files, paths, usage, durationMs, output } = loopPass;
  const isPass = pass > 0;
  return [
    isPass ? pass : "before",
    isPass ? <AgentLabel agent={agent} model={model} /> : "",
    <CheckText loopPass={loopPass} />,
    !isPass ? "" : files === null ? "not known" : <span title={showDirections(paths.join("\n"))}>{files}</span>,
    isPass ? shortCount(totalInput(usage) + usage.output) : "",
    isPass ? costText(loopPass, { isTight: true }) : "",
    formatDuration(durationMs),
    output === null ? (
      ""
    ) : (
      <Action label={`show the output of the check ${isPass ? `after pass ${pass}` : "before the first pass"}`} run={onOutput}>
        Show
      </Action>
    ),
  ];
}

function CheckText({ loopPass: { check, status } }: { loopPass: LoopPass }) {
  if (check === null) return <StateLabel state={status ?? "running"} />;
  if (check.passed) return <span class="good">passed</span>;
  return <span class="bad">{check.exitCode === null ? "stopped" : `exit code ${check.exitCode}`}</span>;
}
