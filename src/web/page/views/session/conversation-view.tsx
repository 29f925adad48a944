// The conversation of a session: its transcript, its questions, and the composer that sends, steers and queues.
import { useMemo } from "preact/hooks";
import { Action, Problem } from "../../components/action.tsx";
import { AskCard } from "../../components/ask-card.tsx";
import { Composer, type ComposerAction } from "../../components/composer.tsx";
import { Elapsed } from "../../components/labels.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import type { Line } from "../../connection/line.ts";
import { usePage } from "../../page-context.ts";
import type { SessionState } from "../../state/follow-session.ts";
import { continueTurn, startTurn, turnParams, type Message } from "../../state/start-turn.ts";
import { useStore } from "../../state/store.ts";
import { showDirections } from "../../text/plain-text.ts";
import { clockTime } from "../../text/times.ts";
import type { SessionViewProps } from "../index.ts";
import { BlockRow } from "./block-row.tsx";

export function ConversationView({ id, followed }: SessionViewProps) {
  const { line } = usePage();
  const state = useStore(followed.state);
  const { session, transcript, turn, interrupted, isPaused, asks, queue, pending } = state;
  const blocks = useMemo(() => [...transcript.settled, ...transcript.live], [transcript]);
  if (state.status === "failed" && session === null) return <Problem text={state.problem ?? "the session can't be read"} />;
  if (session === null) return <p class="faint loading">loading</p>;
  return (
    <div class="conversation">
      {state.problem !== null && <Problem text={state.problem} />}
      {state.earlier !== null && (
        <p class="row earlier">
          <span class="faint">The conversation is long. Its beginning is not loaded.</span>
          <Action run={followed.loadEarlier}>Load earlier messages</Action>
        </p>
      )}
      <VirtualList items={blocks} render={(block) => <BlockRow block={block} />} label="transcript" />
      <div class="below">
        {asks.map((ask) => (
          <AskCard key={ask.id} ask={ask} />
        ))}
        <Waiting id={id} queue={queue} pending={pending} onWithdrawn={followed.refreshPending} />
        {turn !== null && (
          <div class="row working" role="status">
            <span class={isPaused ? "" : "pulse"} aria-hidden="true" />
            <span>{isPaused ? "paused" : asks.length > 0 ? "waits for your answer" : activityOf(state)}</span>
            <Elapsed since={turn.startedAt} />
            <span class="end buttons">
              <Action run={() => (isPaused ? line.api.turn.resume({ session: id }) : line.api.turn.pause({ session: id, force: false }))}>
                {isPaused ? "Resume" : "Pause"}
              </Action>
              <Action tone="danger" run={() => line.api.turn.cancel({ session: id })}>
                Stop
              </Action>
            </span>
          </div>
        )}
        {interrupted !== null && (
          <div class="row working" role="status">
            <span class="state">interrupted</span>
            <span>The process of the turn has ended.</span>
            <span class="end buttons">
              <Action run={async () => continueTurn(await line.apiIn(session.directory), id)}>Continue the turn</Action>
            </span>
          </div>
        )}
        <Composer
          draftName={id}
          placeholder={turn === null ? "Reply" : "Steer the running turn"}
          current={session}
          actions={actionsOf(line, { id, directory: session.directory, isRunning: turn !== null, onQueued: followed.refreshPending })}
        />
      </div>
    </div>
  );
}

type SessionTarget = { id: string; directory: string; isRunning: boolean; onQueued: () => Promise<void> };

/** While a turn runs, Enter steers it. Otherwise it starts a turn. */
function actionsOf(line: Line, { id, directory, isRunning, onQueued }: SessionTarget): ComposerAction[] {
  const send = async (message: Message) => startTurn(await line.apiIn(directory), id, message);
  const queue = async (message: Message) => {
    await (await line.apiIn(directory)).turn.queue(turnParams(id, message));
    await onQueued();
  };
  const steer = async ({ text }: Message) => void (await line.api.turn.steer({ session: id, text }));
  if (!isRunning) return [{ label: "Send", tone: "primary", run: send }];
  return [
    { label: "Steer", tone: "primary", title: "the agent gets the message at its next step", run: steer },
    { label: "Queue", title: "a turn of its own, after this one", run: queue },
  ];
}

function activityOf({ transcript: { live, settled } }: SessionState): string {
  const last = live.at(-1) ?? settled.at(-1);
  if (last?.kind === "tool" && last.result === null) return `runs ${showDirections(last.name)}`;
  if (last?.kind === "thinking" && last.isLive) return "thinks";
  return last?.kind === "text" && last.isLive ? "writes" : "works";
}

type WaitingProps = { id: string; onWithdrawn: () => Promise<void> } & Pick<SessionState, "queue" | "pending">;

/** Messages and turns that wait, each with a way to take it back. */
function Waiting({ id, queue, pending, onWithdrawn }: WaitingProps) {
  const { line } = usePage();
  if (queue.length === 0 && pending.length === 0) return null;
  return (
    <ul class="waiting" aria-label="waiting messages">
      {queue.map((input) => (
        <li key={input.id}>
          <span class="state wait">steers</span>
          <span class="clamp">{showDirections(input.text)}</span>
          <Action label="take the message back" run={() => line.api.turn.takeBack({ session: id, input: input.id })}>
            ×
          </Action>
        </li>
      ))}
      {pending.map((turn) => (
        <li key={turn.id}>
          <span class="state wait">{turn.kind}</span>
          <span class="clamp">
            {turn.wakeAt !== null && `from ${clockTime(turn.wakeAt)}: `}
            {showDirections(turn.prompt ?? "continues the conversation")}
          </span>
          <Action label="withdraw the turn" run={() => line.api.turn.withdraw({ pending: turn.id }).then(onWithdrawn)}>
            ×
          </Action>
        </li>
      ))}
    </ul>
  );
}
