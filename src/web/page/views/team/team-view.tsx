// The board of a team: phases, members with their state, cost and last report, messages; stop it, or send a message.
import { pluralize, shortCount } from "../../../../kit/text/cut-text.ts";
import { formatElapsed } from "../../../../kit/text/duration.ts";
import { lastStatusLine, type TeamView as TeamData } from "../../../../protocol/team/views.ts";
import { costText } from "../../../../protocol/tree/usage-text.ts";
import { countedTokens, zeroSpent, type Spent } from "../../../../protocol/tree/usage.ts";
import { Action, Problem } from "../../components/action.tsx";
import { AgentLabel, StateLabel } from "../../components/labels.tsx";
import { useListKeys } from "../../components/list-keys.ts";
import { usePage } from "../../page-context.ts";
import { addressOf } from "../../route.ts";
import { useNow } from "../../state/store.ts";
import { usePolled } from "../../state/use-polled.ts";
import { showDirections } from "../../text/plain-text.ts";
import type { SessionViewProps } from "../index.ts";
import { TeamMail } from "./team-mail.tsx";

const pollMs = 2_000;

type Phase = TeamData["team"]["phases"][number];
type Member = Phase["members"][number];

export function TeamView({ id }: SessionViewProps) {
  const { line } = usePage();
  const { value: view, problem, refresh } = usePolled(() => line.api.team.show({ session: id }), [id], pollMs);
  useListKeys();
  if (view === null) return problem === null ? <p class="faint loading">loading</p> : <Problem text={problem} />;
  const isOpen = ["planning", "running", "paused"].includes(view.state);
  return (
    <div class="board">
      {problem !== null && <Problem text={problem} />}
      <TeamHead view={view} />
      <p class="clamp">{showDirections(view.team.wish.objective)}</p>
      {isOpen && (
        <span class="buttons">
          <Action
            run={() =>
              (view.state === "paused" ? line.api.turn.resume({ session: id }) : line.api.turn.pause({ session: id, force: false })).then(
                refresh,
              )
            }
          >
            {view.state === "paused" ? "Resume" : "Pause"}
          </Action>
          <Action tone="danger" label="stop the team" run={() => line.api.turn.cancel({ session: id }).then(refresh)}>
            Stop
          </Action>
        </span>
      )}
      {view.team.phases.map((phase, index) => (
        <PhaseSection key={index} phase={phase} number={index + 1} view={view} />
      ))}
      {view.state === "planning" && <p class="faint">The planner is planning the next phase.</p>}
      <TeamMail view={view} onSent={refresh} />
    </div>
  );
}

function TeamHead({ view: { state, run, spent, team, merge } }: { view: TeamData }) {
  const now = useNow(1000);
  const reason = state === "failed" && team.end?.event === "session_failed" ? team.end.reason : run.error?.message;
  return (
    <>
      <div class="facts">
        <StateLabel state={state} />
        <span class="number">{formatElapsed((run.endedAt ?? now) - run.startedAt)}</span>
        <Spending spent={spent} />
        <span>{pluralize(team.messages.length, "message")}</span>
        <span>{team.wish.strategy}</span>
        {merge === "open" && <span>its work is not in the project yet: skein team merge</span>}
      </div>
      {reason !== undefined && state !== "completed" && <p class="problem">{showDirections(reason)}</p>}
    </>
  );
}

function PhaseSection({ phase: { plan, isOver, conflicts, members }, number, view }: { phase: Phase; number: number; view: TeamData }) {
  const done = members.filter(({ state }) => state === "completed").length;
  const nameOf = (agent: string) => members.find((member) => member.id === agent)?.plan.key ?? agent;
  return (
    <section aria-label={`phase ${number}`}>
      <h2>
        {`${number} ${showDirections(plan.name.replace(/^\d+: /, ""))}`}{" "}
        <span class="count">{isOver ? "ended" : `${done} of ${plan.members.length}`}</span>
      </h2>
      {conflicts.map(({ agent, paths }) => (
        <p key={agent} class="problem">
          {showDirections(`conflict: the work of ${nameOf(agent)} in ${paths.join(", ")}`)}
        </p>
      ))}
      <ul class="rows">
        {members.map((member) => (
          <MemberRow key={member.id} member={member} view={view} />
        ))}
      </ul>
    </section>
  );
}

function MemberRow({ member, view }: { member: Member; view: TeamData }) {
  const now = useNow(1000);
  const { plan, state, attempts, session, agent, model } = member;
  const stats = view.members.find(({ id }) => id === member.id);
  const startedAt = stats?.startedAt ?? null;
  const until = state === "running" ? now : (stats?.endedAt ?? null);
  const ask = stats?.asks.at(-1);
  const status = ask === undefined ? lastStatusLine(member) : `asks: ${ask.question}`;
  return (
    <li class="member">
      <span class="facts">
        <StateLabel state={ask === undefined ? state : "asking"} />
        {startedAt === null ? (
          <strong>{showDirections(plan.key)}</strong>
        ) : (
          <a class="title" data-row href={addressOf("session", session)}>
            {showDirections(plan.key)}
          </a>
        )}
        <AgentLabel agent={agent ?? "native"} model={model} />
        <span>{showDirections(plan.role)}</span>
        {attempts > 1 && <span class="state wait">{`try ${attempts}`}</span>}
        {startedAt !== null && <Spending spent={stats?.spent ?? zeroSpent} />}
        {startedAt !== null && until !== null && <span class="number">{formatElapsed(until - startedAt)}</span>}
      </span>
      {status !== "" && <p class={state === "failed" ? "bad clamp" : "faint clamp"}>{showDirections(status)}</p>}
    </li>
  );
}

function Spending({ spent }: { spent: Spent }) {
  return <span class="number">{`${shortCount(countedTokens(spent.usage))} tokens, ${costText(spent, { isTight: true })}`}</span>;
}
