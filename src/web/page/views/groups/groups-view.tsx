// Teams and races of all projects, the latest first. Each opens on the tab of its session.
import type { ComponentChildren } from "preact";
import { pluralize } from "../../../../kit/text/cut-text.ts";
import { shortId } from "../../../../protocol/tree/node.ts";
import { sessionLabel } from "../../../../protocol/tree/turn.ts";
import { Problem } from "../../components/action.tsx";
import { Ago, CostLabel, StateLabel } from "../../components/labels.tsx";
import { useListKeys } from "../../components/list-keys.ts";
import { usePage } from "../../page-context.ts";
import { addressOf } from "../../route.ts";
import { usePolled } from "../../state/use-polled.ts";
import { showDirections } from "../../text/plain-text.ts";

const pollMs = 3_000;
const limit = 50;

export function GroupsView() {
  const { line } = usePage();
  const teams = usePolled(() => line.api.team.list({ project: null, limit }), [], pollMs);
  const races = usePolled(() => line.api.race.list({ project: null, limit }), [], pollMs);
  useListKeys();
  return (
    <div class="inbox">
      <h1 class="hidden">Teams and races</h1>
      <Group title="Teams" {...teams} hint='No team yet. Start one with: skein team run "objective"'>
        {teams.value?.map(({ session, state, objective, members, messages, spent, startedAt, phases }) => (
          <Entry key={session.id} address={addressOf("session", session.id, "team")} title={objective} state={state}>
            <span>{showDirections(sessionLabel(session))}</span>
            <span>{`${members.completed} of ${pluralize(members.total, "member")}`}</span>
            <span>{pluralize(phases, "phase")}</span>
            <span>{pluralize(messages, "message")}</span>
            <CostLabel {...spent} />
            <Ago at={startedAt} />
          </Entry>
        ))}
      </Group>
      <Group title="Races" {...races} hint='No race yet. Start one with: skein race "task" -a claude,codex'>
        {races.value?.map((race) => (
          <Entry key={race.sessionId} address={addressOf("session", race.sessionId, "race")} title={race.task} state={race.state}>
            <span>{showDirections(race.name ?? shortId(race.sessionId))}</span>
            <span>{showDirections(race.agents.join(", "))}</span>
            <span>{`${race.passed} of ${race.agents.length} passed`}</span>
            {race.adopted !== null && <span>{`adopted ${showDirections(race.adopted)}`}</span>}
            <CostLabel {...race} />
            <Ago at={race.startedAt} />
          </Entry>
        ))}
      </Group>
    </div>
  );
}

type GroupProps = { title: string; value: readonly unknown[] | null; problem: string | null; hint: string; children: ComponentChildren };

function Group({ title, value, problem, hint, children }: GroupProps) {
  return (
    <section aria-label={title}>
      <h2>
        {title} {value !== null && <span class="count">{value.length}</span>}
      </h2>
      {problem !== null && <Problem text={problem} />}
      {value === null && problem === null && <p class="faint">loading</p>}
      {value?.length === 0 && <p class="faint">{hint}</p>}
      <ul class="rows">{children}</ul>
    </section>
  );
}

function Entry({ address, title, state, children }: { address: string; title: string; state: string; children: ComponentChildren }) {
  return (
    <li class="member">
      <span class="card-head">
        <StateLabel state={state} />
        <a class="title" data-row href={address}>
          {showDirections(title.trim().split("\n", 1)[0]!.slice(0, 200))}
        </a>
      </span>
      <span class="facts">{children}</span>
    </li>
  );
}
