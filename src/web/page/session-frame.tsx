// The frame of one session: its name and figures, the tabs of its views, and the current one. All tabs share one feed.
import { useEffect, useMemo } from "preact/hooks";
import { sessionLabel } from "../../protocol/tree/turn.ts";
import { addSpent, withSubSessions, zeroSpent } from "../../protocol/tree/usage.ts";
import { Problem } from "./components/action.tsx";
import { AgentLabel, CostLabel, StateLabel } from "./components/labels.tsx";
import { LoadedView } from "./components/loaded-view.tsx";
import { useKeys } from "./keys.ts";
import { usePage } from "./page-context.ts";
import { addressOf, goTo } from "./route.ts";
import { followSession, type FollowedSession, type SessionState } from "./state/follow-session.ts";
import { useStore } from "./state/store.ts";
import { showDirections } from "./text/plain-text.ts";
import { sessionViews } from "./views/index.ts";

type SessionFrameProps = { id: string; parts: readonly string[] };

export function SessionFrame({ id, parts }: SessionFrameProps) {
  const { line } = usePage();
  const followed = useMemo(() => followSession(line, id), [line, id]);
  useEffect(() => followed.stop, [followed]);
  const [name = sessionViews[0]!.name, ...rest] = parts;
  const entry = sessionViews.find((view) => view.name === name);
  return (
    <div class="session">
      <SessionHead id={id} followed={followed} current={name} />
      {entry === undefined ? (
        <Problem text={`a session has no view ${name}`} />
      ) : (
        <LoadedView key={entry.name} load={entry.load} props={{ id, followed, parts: rest }} />
      )}
    </div>
  );
}

function SessionHead({ id, followed, current }: { id: string; followed: FollowedSession; current: string }) {
  const state = useStore(followed.state);
  const { session, turn, isPaused, turns, asks } = state;
  const title = session === null ? "session" : titleOf(state);
  useEffect(() => {
    document.title = `${asks.length > 0 ? "? " : turn === null ? "" : "… "}${title} · skein`;
    return () => void (document.title = "skein");
  }, [title, turn, asks.length]);
  const shownNames = sessionViews.flatMap(({ name, isFor }) => (isFor === undefined || isFor(turns) ? [name] : [])).join();
  const tabs = useMemo(() => sessionViews.filter(({ name }) => shownNames.split(",").includes(name)), [shownNames]);
  const keys = useMemo(
    () =>
      tabs.map((view) => ({
        keys: `g ${view.key}`,
        summary: `go to the session's ${view.title.toLowerCase()}`,
        run: () => goTo("session", id, view.name),
      })),
    [id, tabs],
  );
  useKeys(keys);
  const spent = useMemo(() => turns.map(withSubSessions).reduce(addSpent, zeroSpent), [turns]);
  return (
    <div class="session-head">
      <h1 title={session?.directory}>{showDirections(title)}</h1>
      <div class="facts">
        {session !== null && <AgentLabel agent={turn?.agent ?? session.agent} model={turn?.model ?? session.model} />}
        {state.interrupted !== null && <StateLabel state="interrupted" />}
        {turn !== null && <StateLabel state={asks.length > 0 ? "asking" : isPaused ? "paused" : "running"} />}
        {session !== null && <span class="path">{showDirections(shortPath(session.directory))}</span>}
        {turns.length > 0 && <CostLabel {...spent} />}
        {state.status === "behind" && <span class="state wait">behind</span>}
      </div>
      <nav class="tabs" aria-label="views of the session">
        {tabs.map((view) => (
          <a key={view.name} href={addressOf("session", id, view.name)} aria-current={view.name === current ? "page" : undefined}>
            {view.title}
          </a>
        ))}
      </nav>
    </div>
  );
}

function titleOf({ session }: SessionState): string {
  return session!.name ?? session!.task?.split("\n", 1)[0]?.slice(0, 120) ?? sessionLabel(session!);
}

function shortPath(path: string): string {
  return path.split("/").slice(-2).join("/");
}
