// The table of a race: each agent with its state, check, files, lines, tokens, cost and time. One of them can be adopted.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { changeText } from "../../../../protocol/tree/branch-stats.ts";
import { hasPassed } from "../../../../protocol/race/race.ts";
import { raceColumns, raceHead, racerCells, type RaceColumn } from "../../../../protocol/race/table.ts";
import type { RaceAdoption, RacerView, RaceView as RaceData } from "../../../../protocol/race/views.ts";
import { Action, Problem } from "../../components/action.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { AgentLabel, StateLabel } from "../../components/labels.tsx";
import { useListKeys } from "../../components/list-keys.ts";
import { usePage } from "../../page-context.ts";
import { addressOf } from "../../route.ts";
import { useNow } from "../../state/store.ts";
import { usePolled } from "../../state/use-polled.ts";
import { showDirections } from "../../text/plain-text.ts";
import type { SessionViewProps } from "../index.ts";

const pollMs = 2_000;

export function RaceView({ id }: SessionViewProps) {
  const { line } = usePage();
  const { value: view, problem, refresh } = usePolled(() => line.api.race.show({ session: id }), [id], pollMs);
  const [plan, setPlan] = useState<RaceAdoption | null>(null);
  const now = useNow(1000);
  useListKeys();
  if (view === null) return problem === null ? <p class="faint loading">loading</p> : <Problem text={problem} />;
  const columns = raceColumns(view);
  const canAdopt = view.state === "ended" && view.adopted === null;
  const adoptCell = (racer: RacerView) =>
    canAdopt && racer.state === "ended" && racer.files !== null ? (
      <Action
        label={`adopt the work of ${showDirections(racer.key)}`}
        tone={view.proposed === racer.key ? "primary" : "plain"}
        run={async () => setPlan(await line.api.race.adopt({ session: racer.sessionId, dryRun: true }))}
      >
        Adopt…
      </Action>
    ) : (
      ""
    );
  return (
    <div class="board">
      {problem !== null && <Problem text={problem} />}
      <RaceHead view={view} now={now} onStopped={refresh} />
      <DataTable
        label="agents of the race"
        columns={[
          ...columns.map(({ title, align }) => ({ title: title.toLowerCase() || "note", ...(align === "right" ? { align } : {}) })),
          { title: "adopt" },
        ]}
        rows={view.racers.map((racer) => {
          const cells = racerCells(view, racer, now);
          return { key: racer.key, cells: [...columns.map(({ name }) => cellOf(name, racer, cells)), adoptCell(racer)] };
        })}
      />
      {plan !== null && (
        <Adoption
          plan={plan}
          onDone={() => {
            setPlan(null);
            refresh();
          }}
        />
      )}
    </div>
  );
}

function RaceHead({ view, now, onStopped }: { view: RaceData; now: number; onStopped: () => void }) {
  const { line } = usePage();
  const [state = "", ...facts] = raceHead(view, now);
  return (
    <>
      <div class="facts">
        <StateLabel state={state} />
        {facts.map((fact) => (
          <span key={fact} class="number">
            {fact}
          </span>
        ))}
        {view.check !== null && (
          <span>
            check <code>{showDirections(view.check)}</code>
          </span>
        )}
      </div>
      <p class="clamp">{showDirections(view.task)}</p>
      {(view.state === "running" || view.state === "paused") && (
        <span class="buttons">
          <Action tone="danger" label="stop the race" run={() => line.api.turn.cancel({ session: view.sessionId }).then(onStopped)}>
            Stop
          </Action>
        </span>
      )}
    </>
  );
}

function cellOf(name: RaceColumn, racer: RacerView, cells: Record<RaceColumn, string>): ComponentChildren {
  const text = showDirections(cells[name]);
  if (name === "agent") return <AgentLabel agent={racer.agent} model={racer.model} />;
  if (name === "state") return <StateLabel state={text} />;
  if (name === "check" && racer.check !== null) return <span class={hasPassed(racer) ? "good" : "bad"}>{text}</span>;
  if (name === "session" && text !== "")
    return (
      <a data-row href={addressOf("session", racer.sessionId)}>
        {text}
      </a>
    );
  return text;
}

/** Shows the changes of an adoption before it is carried out. */
function Adoption({ plan, onDone }: { plan: RaceAdoption; onDone: () => void }) {
  const { line } = usePage();
  const [done, setDone] = useState<RaceAdoption | null>(null);
  const { changes, conflicts, session } = plan;
  if (done !== null)
    return (
      <div class="card" role="status">
        <p>
          {`${done.changes.length} files changed in the project, ${done.grafted.length} conclusions grafted. `}
          <a href={addressOf("session", done.continuesIn)}>Continue there</a>
        </p>
        {done.problems.map((problem) => (
          <Problem key={problem} text={`not grafted: ${problem}`} />
        ))}
        <span class="buttons">
          <Action run={async () => onDone()}>Close</Action>
        </span>
      </div>
    );
  return (
    <div class="card preview" role="region" aria-label="what the adoption would change">
      <strong>{changes.length === 0 ? "The project's files stay as they are." : "The adoption would change the project's files:"}</strong>
      <pre class="output" tabIndex={0}>
        {changes.map((change) => showDirections(changeText(change))).join("\n")}
      </pre>
      {conflicts.length > 0 && <Problem text={`The project has changed in the same places: ${conflicts.map(showDirections).join(", ")}`} />}
      <span class="buttons">
        {conflicts.length === 0 && (
          <Action tone="primary" run={async () => setDone(await line.api.race.adopt({ session, dryRun: false }))}>
            Adopt
          </Action>
        )}
        <Action run={async () => onDone()}>Cancel</Action>
      </span>
    </div>
  );
}
