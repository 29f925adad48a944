// Searches all sessions by words.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Api } from "../../../../protocol/api/api.ts";
import { sessionLabel } from "../../../../protocol/tree/turn.ts";
import { Problem, problemText } from "../../components/action.tsx";
import { Ago } from "../../components/labels.tsx";
import { useListKeys } from "../../components/list-keys.ts";
import { usePage } from "../../page-context.ts";
import { addressOf } from "../../route.ts";
import { showDirections } from "../../text/plain-text.ts";
import type { ViewProps } from "../index.ts";

type Hit = Awaited<ReturnType<Api["search"]["find"]>>[number];

/** The search starts when the user has typed nothing for this time. */
const typingPauseMs = 200;

export function SearchView({ parts }: ViewProps) {
  const { line } = usePage();
  const [query, setQuery] = useState(parts[0] ?? "");
  const [hits, setHits] = useState<readonly Hit[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  useListKeys();
  useLayoutEffect(() => field.current?.focus(), []);
  useEffect(() => {
    if (query.trim() === "") return setHits(null);
    let isCurrent = true;
    const timer = setTimeout(() => {
      line.api.search.find({ query, project: null, limit: 40 }).then(
        (found) => {
          if (!isCurrent) return;
          setHits(found);
          setProblem(null);
        },
        (error: unknown) => isCurrent && setProblem(problemText(error)),
      );
    }, typingPauseMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [line, query]);
  return (
    <div class="inbox">
      <h1 class="hidden">Search</h1>
      <input
        ref={field}
        class="input search"
        type="search"
        aria-label="search all sessions"
        placeholder="words in any session"
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
      />
      {problem !== null && <Problem text={problem} />}
      <p class="faint" role="status">
        {hits === null ? "" : hits.length === 0 ? "nothing found" : `${hits.length} found`}
      </p>
      <ul class="rows">
        {hits?.map((hit) => (
          <HitRow key={hit.node.id} hit={hit} />
        ))}
      </ul>
    </div>
  );
}

function HitRow({ hit: { node, session, snippet, marks } }: { hit: Hit }) {
  return (
    <li class="session-row hit">
      <a class="title" data-row href={addressOf("session", session?.id ?? node.session)}>
        {showDirections(session === null ? node.session.slice(-8) : sessionLabel(session))}
      </a>
      <p class="snippet">{markedText(snippet, marks)}</p>
      <span class="facts">
        <span>{node.author}</span>
        <Ago at={node.at} />
      </span>
    </li>
  );
}

function markedText(text: string, marks: Hit["marks"]) {
  let offset = 0;
  const pieces = marks.flatMap(([start, end]) => {
    const before = text.slice(offset, start);
    offset = end;
    return [before, <mark key={start}>{showDirections(text.slice(start, end))}</mark>];
  });
  return [...pieces, text.slice(offset)].map((piece) => (typeof piece === "string" ? showDirections(piece) : piece));
}
