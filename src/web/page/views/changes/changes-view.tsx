// The files that a session changed, of the whole branch or of one turn. Comments on lines go back to the agent as one message.
import type { ComponentChildren } from "preact";
import { memo } from "preact/compat";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { changeText, unknownFilesText, writersText } from "../../../../protocol/tree/branch-stats.ts";
import type { FileChange, OtherChange } from "../../../../protocol/tree/file-changes.ts";
import type { Turn } from "../../../../protocol/tree/turn.ts";
import { Action, Problem, problemText } from "../../components/action.tsx";
import { useListKeys } from "../../components/list-keys.ts";
import type { Line } from "../../connection/line.ts";
import { usePage } from "../../page-context.ts";
import { goTo } from "../../route.ts";
import { startTurn } from "../../state/start-turn.ts";
import { useStore } from "../../state/store.ts";
import { useMedia } from "../../state/use-media.ts";
import { showDirections } from "../../text/plain-text.ts";
import { clockTime } from "../../text/times.ts";
import type { SessionViewProps } from "../index.ts";
import { BlameTable } from "./blame-table.tsx";
import { FileDiff } from "./file-diff.tsx";
import { patchFiles } from "./patch-files.ts";
import { Restore } from "./restore.tsx";
import { lineKey, reviewMessage, type ReviewComment } from "./review.ts";

type Changes = { files: readonly FileChange[]; others: readonly OtherChange[]; patch: string; note: string | null };
type Loaded = { changes: Changes } | { problem: string } | null;

export function ChangesView({ id, followed }: SessionViewProps) {
  const { line } = usePage();
  const { session, turns, turn } = useStore(followed.state);
  const [scope, setScope] = useState("branch");
  const [loaded, setLoaded] = useState<Loaded>(null);
  const [round, setRound] = useState(0);
  const [isSplit, setSplit] = useState(() => window.innerWidth >= 1100);
  // Two columns need more room than a phone has.
  const isWide = useMedia("(min-width: 700px)");
  const [comments, setComments] = useStoredComments(id);
  const chosen = turns.find((each) => each.id === scope) ?? null;
  const tip = session?.tip;
  useListKeys();
  useEffect(() => {
    if (session === null) return undefined;
    let isCurrent = true;
    loadChanges(line, { id, directory: session.directory, turn: chosen }).then(
      (changes) => isCurrent && setLoaded({ changes }),
      (error: unknown) => isCurrent && setLoaded({ problem: problemText(error) }),
    );
    return () => void (isCurrent = false);
    // A running turn has no end yet: its changes are read when the tip has moved.
  }, [line, id, scope, tip, round, session === null]);
  const onComment = useCallback(
    (comment: ReviewComment) =>
      setComments((before) => {
        const next = new Map(before);
        if (comment.comment === "") next.delete(lineKey(comment));
        else next.set(lineKey(comment), comment);
        return next;
      }),
    [setComments],
  );
  if (session === null) return <p class="faint loading">loading</p>;
  return (
    <div class="changes scroller">
      <div class="row wrap changes-head">
        <label class="field">
          Changes of
          <select class="input small" value={scope} onChange={(event) => setScope(event.currentTarget.value)}>
            <option value="branch">the whole branch</option>
            {turns.toReversed().map((each) => (
              <option key={each.id} value={each.id}>
                {`turn of ${each.agent} at ${clockTime(each.startedAt)}`}
              </option>
            ))}
          </select>
        </label>
        {isWide && <SplitChoice isSplit={isSplit} onChange={setSplit} />}
        {chosen !== null && chosen.parent !== null && (
          <Restore key={chosen.id} node={chosen.parent} directory={session.directory} onDone={() => setRound(round + 1)} />
        )}
      </div>
      {loaded === null && <p class="faint loading">loading</p>}
      {loaded !== null && "problem" in loaded && <Problem text={loaded.problem} />}
      {loaded !== null && "changes" in loaded && (
        <ChangedFiles
          changes={loaded.changes}
          isSplit={isSplit && isWide}
          comments={comments}
          onComment={onComment}
          directory={session.directory}
          at={chosen?.tip ?? session.tip}
        />
      )}
      <ReviewBar
        comments={[...comments.values()]}
        onSend={async (text) => {
          await sendReview(line, { id, directory: session.directory, isRunning: turn !== null }, text);
          setComments(() => new Map());
          goTo("session", id);
        }}
        onDrop={() => setComments(() => new Map())}
      />
    </div>
  );
}

function SplitChoice({ isSplit, onChange }: { isSplit: boolean; onChange: (isSplit: boolean) => void }) {
  return (
    <label class="field check">
      <input type="checkbox" checked={isSplit} onChange={(event) => onChange(event.currentTarget.checked)} />
      Side by side
    </label>
  );
}

type Target = { id: string; directory: string; turn: Turn | null };

async function loadChanges(line: Line, { id, directory, turn }: Target): Promise<Changes> {
  if (turn !== null && turn.parent !== null && turn.tip !== null) {
    const { changes, others, patch } = await line.api.files.diff({ from: turn.parent, to: turn.tip, directory });
    return { files: changes, others, patch, note: null };
  }
  const { files, otherFiles, patch, ...rest } = await line.api.branch.files({ session: id });
  const note = files === null ? "The files of this branch were not recorded." : unknownFilesText(rest);
  return { files: files ?? [], others: otherFiles, patch, note };
}

/** A running turn gets the review at its next step. Otherwise it starts a turn. */
async function sendReview(line: Line, target: { id: string; directory: string; isRunning: boolean }, text: string): Promise<void> {
  if (target.isRunning) await line.api.turn.steer({ session: target.id, text });
  else await startTurn(await line.apiIn(target.directory), target.id, { text, agent: null, model: null, policy: null, images: [] });
}

type ChangedFilesProps = {
  changes: Changes;
  isSplit: boolean;
  comments: ReadonlyMap<string, ReviewComment>;
  onComment: (comment: ReviewComment) => void;
  directory: string;
  /** The node whose files are shown; null before the first message. */
  at: string | null;
};

/** Files are open if there are only a few of them. */
const maxOpenFiles = 12;

/** The session's events render the view many times in a second, but its changes only when they are read again. */
const ChangedFiles = memo(({ changes: { files, others, patch, note }, isSplit, comments, onComment, directory, at }: ChangedFilesProps) => {
  const diffs = useMemo(() => new Map(patchFiles(patch).map((file) => [file.path, file])), [patch]);
  return (
    <>
      {note !== null && <p class="faint">{note}</p>}
      {files.length === 0 && note === null && <p class="faint">No file changed.</p>}
      {files.map((change) => {
        const diff = diffs.get(change.path);
        return (
          <ChangedFile
            key={change.path}
            title={changeText(change)}
            isOpenAtFirst={files.length <= maxOpenFiles && diff !== undefined}
            blame={at === null || change.kind === "deleted" ? null : () => <BlameTable path={change.path} directory={directory} at={at} />}
          >
            {() =>
              diff === undefined ? (
                <p class="faint">There is no text to compare.</p>
              ) : (
                <FileDiff file={diff} isSplit={isSplit} comments={comments} onComment={onComment} />
              )
            }
          </ChangedFile>
        );
      })}
      {others.length > 0 && (
        <section class="others">
          <h2>Not by this branch</h2>
          <ul>
            {others.map((change) => (
              <li key={change.path}>{showDirections(`${changeText(change)} · ${writersText(change)}`)}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
});

type ChangedFileProps = {
  title: string;
  isOpenAtFirst: boolean;
  children: () => ComponentChildren;
  /** The whole file with the writer of each line; null for a file that is gone. */
  blame: (() => ComponentChildren) | null;
};

/** The rows of a closed file are not in the document. */
function ChangedFile({ title, isOpenAtFirst, children, blame }: ChangedFileProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const [showsWriters, setShowsWriters] = useState(false);
  return (
    <details class="changed-file" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary data-row>{showDirections(title)}</summary>
      {isOpen && blame !== null && (
        <label class="field check">
          <input type="checkbox" checked={showsWriters} onChange={(event) => setShowsWriters(event.currentTarget.checked)} />
          The whole file, with the writer of each line
        </label>
      )}
      {isOpen && (showsWriters && blame !== null ? blame() : children())}
    </details>
  );
}

type Comments = ReadonlyMap<string, ReviewComment>;

/** The comments survive another tab of the session and a new version of the page, until they are sent. */
function useStoredComments(id: string): [Comments, (update: (before: Comments) => Comments) => void] {
  const name = `skein-review:${id}`;
  const [comments, setComments] = useState<Comments>(
    () => new Map(JSON.parse(sessionStorage.getItem(name) ?? "[]") as [string, ReviewComment][]),
  );
  useEffect(() => sessionStorage.setItem(name, JSON.stringify([...comments])), [name, comments]);
  return [comments, setComments];
}

type ReviewBarProps = { comments: readonly ReviewComment[]; onSend: (text: string) => Promise<void>; onDrop: () => void };

function ReviewBar({ comments, onSend, onDrop }: ReviewBarProps) {
  if (comments.length === 0) return null;
  return (
    <div class="review-bar" role="region" aria-label="your review">
      <span>{`${comments.length} ${comments.length === 1 ? "comment" : "comments"}`}</span>
      <span class="end buttons">
        <Action run={async () => onDrop()}>Drop</Action>
        <Action
          tone="primary"
          shortcut={{ keys: "s", summary: "send the comments as one message" }}
          run={() => onSend(reviewMessage(comments))}
        >
          Send as one message
        </Action>
      </span>
    </div>
  );
}
