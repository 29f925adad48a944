// The frame of the page: navigation, the state of the line, the current view, and the help.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Help } from "./components/help.tsx";
import { LoginEnded, LoginForm } from "./components/login-form.tsx";
import { Logo } from "./components/logo.tsx";
import { Problem } from "./components/action.tsx";
import { LoadedView } from "./components/loaded-view.tsx";
import type { LineState } from "./connection/line.ts";
import { useKeys, type KeyBinding } from "./keys.ts";
import { PageContextProvider, type PageContext } from "./page-context.ts";
import { addressOf, goTo, route } from "./route.ts";
import { SessionFrame } from "./session-frame.tsx";
import { useStore } from "./state/store.ts";
import { clockTime } from "./text/times.ts";
import { views } from "./views/index.ts";

type AppProps = { page: PageContext; build: string; problem: string | null };

export function App({ page, build, problem }: AppProps) {
  const state = useStore(page.line.state);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const keys = useMemo(() => pageKeys(() => setHelpOpen((isOpen) => !isOpen)), []);
  useKeys(keys);
  useEffect(() => {
    if (state.status === "outdated") loadNewVersion(build);
  }, [state.status, build]);
  if (state.status === "logged-out") return state.isProven ? <LoginForm problem={problem} /> : <LoginEnded />;
  return (
    <PageContextProvider.Provider value={page}>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        to the content
      </button>
      <Header state={state} onHelp={() => setHelpOpen(true)} />
      <LineBanner state={state} />
      <main id="main" tabIndex={-1}>
        <CurrentView />
      </main>
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </PageContextProvider.Provider>
  );
}

function pageKeys(toggleHelp: () => void): KeyBinding[] {
  return [
    ...views.map(({ key, title, name }) => ({ keys: `g ${key}`, summary: `go to ${title.toLowerCase()}`, run: () => goTo(name) })),
    { keys: "/", summary: "search", run: () => goTo("search") },
    { keys: "?", summary: "show or hide the keys", run: toggleHelp },
  ];
}

function Header({ state, onHelp }: { state: LineState; onHelp: () => void }) {
  const { view } = useStore(route);
  return (
    <header class="top">
      <a class="brand" href={addressOf("inbox")} aria-label="skein, to the inbox">
        <Logo size={22} />
        <span>skein</span>
      </a>
      <nav aria-label="views">
        {views.map(({ name, title }) => (
          <a key={name} href={addressOf(name)} aria-current={name === view ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <span class={`line ${state.status}`} title={lineTitles[state.status]}>
        <span class="dot" aria-hidden="true" />
        <span class="line-text">{state.status}</span>
      </span>
      <button type="button" class="button quiet" aria-label="keys" title="keys (?)" onClick={onHelp}>
        ?
      </button>
    </header>
  );
}

const lineTitles: Record<LineState["status"], string> = {
  connecting: "connecting to the hub",
  online: "connected to the hub",
  offline: "no connection to the hub",
  "logged-out": "not logged in",
  outdated: "the hub has another version of this page",
};

/** Shown while the page has no connection to the hub or is outdated. A short loss of the connection is not shown. */
function LineBanner({ state }: { state: LineState }) {
  if (state.status === "outdated")
    return (
      <p class="banner" role="status">
        skein was updated. <a href=".">Load the new version of this page</a>.
      </p>
    );
  if (state.status !== "offline" || state.attempts < 2) return null;
  if (state.isOtherProgram)
    return (
      <p class="banner" role="status">
        Another program answers at this address, and got neither your login nor any text. Do not load this page again. Close it, and open
        the link of: skein web
      </p>
    );
  return (
    <p class="banner" role="status">
      No connection to the hub. What you see is from {clockTime(state.since)}. The page connects again by itself
      {state.attempts > 5 ? "; if the hub does not run, start it with: skein web" : ""}.
    </p>
  );
}

/** Loads the page again once for each new build. Unsent texts are in the browser's storage and survive it. */
function loadNewVersion(build: string): void {
  if (sessionStorage.getItem("skein-reloaded-from") === build) return;
  sessionStorage.setItem("skein-reloaded-from", build);
  location.reload();
}

function CurrentView() {
  const { view, parts } = useStore(route);
  if (view === "session" && parts[0] !== undefined) return <SessionFrame key={parts[0]} id={parts[0]} parts={parts.slice(1)} />;
  const entry = views.find(({ name }) => name === view);
  if (entry === undefined) return <Problem text={`there is no view ${view}`} />;
  return <LoadedView key={entry.name} load={entry.load} props={{ parts }} />;
}
