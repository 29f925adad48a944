// The inbox, the first view of the page: turns that need the user, running turns, recent sessions.
import { useEffect } from "preact/hooks";
import type { TurnInfo } from "../../../../protocol/api/control.ts";
import { homeProject, sessionLabel, type Session } from "../../../../protocol/tree/turn.ts";
import { Action, Problem } from "../../components/action.tsx";
import { AskCard } from "../../components/ask-card.tsx";
import { AgentLabel, Ago, CostLabel, Elapsed, StateLabel } from "../../components/labels.tsx";
import { useListKeys } from "../../components/list-keys.ts";
import { usePage } from "../../page-context.ts";
import { addressOf } from "../../route.ts";
import { usePolledInbox, type Inbox } from "../../state/poll-inbox.ts";
import { showDirections } from "../../text/plain-text.ts";
import { clockTime } from "../../text/times.ts";
import type { ViewProps } from "../index.ts";
import { StartSession } from "./start-session.tsx";

export function InboxView(_: ViewProps) {
  const { value: inbox, problem } = usePolledInbox();
  useListKeys();
  useEffect(() => {
    document.title = inbox !== null && inbox.asks.length > 0 ? `(${inbox.asks.length}) skein` : "skein";
  }, [inbox]);
  return (
    <div class="inbox">
      <h1 class="hidden">Inbox</h1>
      <StartSession sessions={inbox?.sessions ?? []} />
      {problem !== null && <Problem text={problem} />}
      {inbox === null ? <p class="faint loading">loading</p> : <Sections inbox={inbox} />}
    </div>
  );
}

function Sections({ inbox }: { inbox: Inbox }) {
  const { asks, running, waiting, failed, sessions, activities } = inbox;
  const names = new Map([...sessions, ...running.map(({ session }) => session)].map((session) => [session.id, titleOf(session)]));
  const needs = asks.length + waiting.length + failed.length;
  return (
    <>
      {needs > 0 && (
        <section aria-labelledby="needs-you">
          <h2 id="needs-you">
            Needs you <span class="count">{needs}</span>
          </h2>
          {asks.map((ask) => (
            <AskCard key={ask.id} ask={ask} title={names.get(ask.session) ?? "a sub-session"} />
          ))}
          {waiting.map((info) => (
            <WaitingRow key={info.turn.id} info={info} />
          ))}
          {failed.map((info) => (
            <FailedRow key={info.turn.id} info={info} />
          ))}
        </section>
      )}
      <section aria-labelledby="runs-now">
        <h2 id="runs-now">
          Runs now <span class="count">{running.length}</span>
        </h2>
        {running.length === 0 && <p class="faint">Nothing runs.</p>}
        {running.map((info) => (
          <RunningRow key={info.turn.id} info={info} activity={activities.get(info.turn.tip ?? "") ?? null} />
        ))}
      </section>
      <section aria-labelledby="recent">
        <h2 id="recent">Recent sessions</h2>
        {sessions.length === 0 && <p class="faint">No session yet. Write a task above, or start skein in a project.</p>}
        <ul class="rows">
          {sessions.map((session) => (
            <SessionRow key={session.id} session={session} />
          ))}
        </ul>
      </section>
    </>
  );
}

function RunningRow({ info: { session, turn, state, prompt }, activity }: { info: TurnInfo; activity: string | null }) {
  const { line } = usePage();
  const isPaused = state === "paused";
  return (
    <article class="card running">
      <CardHead state={state} session={session} />
      {prompt !== undefined && prompt.trim() !== titleOf(session) && <p class="clamp faint">{showDirections(prompt)}</p>}
      {activity !== null && <p class="activity">{showDirections(activity)}</p>}
      <div class="facts">
        <AgentLabel agent={turn.agent} model={turn.model} />
        <Elapsed since={turn.startedAt} />
        <CostLabel {...turn} />
        <span class="path">{showDirections(projectName(session))}</span>
        <span class="end buttons">
          <Action
            label={`${isPaused ? "resume" : "pause"} ${titleOf(session)}`}
            run={() =>
              isPaused ? line.api.turn.resume({ session: session.id }) : line.api.turn.pause({ session: session.id, force: false })
            }
          >
            {isPaused ? "Resume" : "Pause"}
          </Action>
          <Action label={`stop ${titleOf(session)}`} tone="danger" run={() => line.api.turn.cancel({ session: session.id })}>
            Stop
          </Action>
        </span>
      </div>
    </article>
  );
}

function WaitingRow({ info: { session, turn, state, pending } }: { info: TurnInfo }) {
  const { line } = usePage();
  return (
    <article class="card">
      <CardHead state={state} session={session} />
      <div class="facts">
        <AgentLabel agent={turn.agent} model={turn.model} />
        {pending?.wakeAt != null && <span>continues at {clockTime(pending.wakeAt)}</span>}
        {pending?.problem != null && <span class="problem">{showDirections(pending.problem)}</span>}
        {pending !== undefined && (
          <span class="end buttons">
            <Action run={() => line.api.turn.withdraw({ pending: pending.id })}>Withdraw</Action>
          </span>
        )}
      </div>
    </article>
  );
}

function FailedRow({ info: { session, turn, state } }: { info: TurnInfo }) {
  return (
    <article class="card">
      <CardHead state={state === "interrupted" ? state : (turn.status ?? "broken")} session={session} />
      {turn.error !== null && <p class="clamp">{showDirections(turn.error.message)}</p>}
      <div class="facts">
        <AgentLabel agent={turn.agent} model={turn.model} />
        {turn.endedAt !== null && <Ago at={turn.endedAt} />}
        <span class="path">{showDirections(projectName(session))}</span>
      </div>
    </article>
  );
}

function CardHead({ state, session }: { state: string; session: Session }) {
  return (
    <div class="card-head">
      <StateLabel state={state} />
      <SessionLink session={session} />
    </div>
  );
}

function SessionLink({ session }: { session: Session }) {
  return (
    <a class="title" data-row href={addressOf("session", session.id)}>
      {titleOf(session)}
    </a>
  );
}

function SessionRow({ session }: { session: Session }) {
  return (
    <li class="session-row">
      <SessionLink session={session} />
      <span class="facts">
        <AgentLabel agent={session.agent} />
        <span class="path">{showDirections(projectName(session))}</span>
        <Ago at={session.updatedAt} />
      </span>
    </li>
  );
}

function titleOf(session: Session): string {
  const words = session.latestPrompt ?? session.task;
  return showDirections(session.name ?? words?.trim().split("\n", 1)[0]?.slice(0, 160) ?? sessionLabel(session));
}

function projectName(session: Session): string {
  return homeProject(session).split("/").at(-1) ?? "";
}
