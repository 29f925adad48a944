// The diff of one file, in one or two columns. Each line can be commented: a click on its number, or Enter on it.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plainText, showDirections } from "../../text/plain-text.ts";
import { sideBySide, type DiffRow, type PatchFile } from "./patch-files.ts";
import { lineKey, type CommentedLine, type DiffSide, type ReviewComment } from "./review.ts";

export type FileDiffProps = {
  file: PatchFile;
  isSplit: boolean;
  comments: ReadonlyMap<string, ReviewComment>;
  /** Called with a new, changed or emptied comment. */
  onComment: (comment: ReviewComment) => void;
};

/** More rows of one file are shown only on request, so that a generated file does not stop the page. */
const shownRows = 2_000;

export function FileDiff({ file, isSplit, comments, onComment }: FileDiffProps) {
  const [isWhole, setWhole] = useState(false);
  const [open, setOpen] = useState<string | null>(null);
  const rows = isWhole ? file.rows : file.rows.slice(0, shownRows);
  const render = (row: DiffRow | null, side: DiffSide) => (
    <Cell row={row} side={side} path={file.path} comments={comments} onOpen={(line) => setOpen(lineKey(line))} />
  );
  const commentsBelow = (lines: readonly CommentedLine[]) =>
    lines.map((line) => {
      const key = lineKey(line);
      if (open !== key && !comments.has(key)) return null;
      return (
        <CommentRow
          key={key}
          line={line}
          columns={isSplit ? 4 : 3}
          text={comments.get(key)?.comment ?? ""}
          onDone={(comment) => {
            setOpen(null);
            onComment({ ...line, comment });
          }}
        />
      );
    });
  const table = isSplit
    ? sideBySide(rows).map(([old, fresh]) => {
        if (old !== null && old.kind === "hunk") return <HunkRow text={old.text} columns={4} />;
        return (
          <>
            <tr>
              {render(old, "old")}
              {render(fresh, "new")}
            </tr>
            {commentsBelow([...linesOf(old, file.path, "old"), ...(old === fresh ? [] : linesOf(fresh, file.path, "new"))])}
          </>
        );
      })
    : rows.map((row) => {
        if (row.kind === "hunk") return <HunkRow text={row.text} columns={3} />;
        const side: DiffSide = row.kind === "removed" ? "old" : "new";
        return (
          <>
            <tr>
              <td class="other-line number faint">{side === "new" ? (row.oldLine ?? "") : ""}</td>
              {render(row, side)}
            </tr>
            {commentsBelow(linesOf(row, file.path, side))}
          </>
        );
      });
  return (
    <>
      <div class="diff-box" tabIndex={0} role="region" aria-label={`diff of ${file.path}`}>
        <table class={`diff ${isSplit ? "split" : ""}`}>
          {isSplit && (
            <colgroup>
              <col class="number-column" />
              <col />
              <col class="number-column" />
              <col />
            </colgroup>
          )}
          <tbody>{table}</tbody>
        </table>
      </div>
      {rows.length < file.rows.length && (
        <button type="button" class="button" onClick={() => setWhole(true)}>
          Show {file.rows.length - rows.length} more lines
        </button>
      )}
    </>
  );
}

function linesOf(row: DiffRow | null, path: string, side: DiffSide): CommentedLine[] {
  if (row === null || row.kind === "hunk") return [];
  const line = side === "old" ? row.oldLine : row.newLine;
  return line === null ? [] : [{ path, side, line, text: row.text }];
}

function HunkRow({ text, columns }: { text: string; columns: number }) {
  return (
    <tr class="hunk">
      <td colSpan={columns}>{text}</td>
    </tr>
  );
}

type CellProps = {
  row: DiffRow | null;
  side: DiffSide;
  path: string;
  comments: ReadonlyMap<string, ReviewComment>;
  onOpen: (line: CommentedLine) => void;
};

const signs = { same: " ", added: "+", removed: "-", hunk: " " };

function Cell({ row, side, path, comments, onOpen }: CellProps) {
  const [line] = linesOf(row, path, side);
  if (row === null || line === undefined) return <td class="empty" colSpan={2} />;
  const isCommented = comments.has(lineKey(line));
  return (
    <>
      <td class="line-number">
        <button
          type="button"
          aria-label={`comment on line ${line.line} of the ${side} version`}
          aria-pressed={isCommented}
          onClick={() => onOpen(line)}
        >
          {line.line}
        </button>
      </td>
      <td class={`diff-text ${row.kind}`}>
        <span class="sign">{signs[row.kind]}</span>
        {plainText(row.text)}
      </td>
    </>
  );
}

type CommentRowProps = { line: CommentedLine; columns: number; text: string; onDone: (comment: string) => void };

function CommentRow({ line, columns, text, onDone }: CommentRowProps): ComponentChildren {
  const [draft, setDraft] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  // Before the next frame: a key that is pressed at once must reach the field.
  useLayoutEffect(() => {
    if (text === "") field.current?.focus();
  }, []);
  return (
    <tr class="comment">
      <td colSpan={columns}>
        <textarea
          rows={2}
          value={draft}
          aria-label={`comment on ${showDirections(line.path)} line ${line.line}`}
          placeholder="Comment; Ctrl+Enter keeps it"
          ref={field}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onDone(draft.trim());
            if (event.key === "Escape") onDone(text);
          }}
        />
        <span class="buttons">
          <button
            type="button"
            class="button primary"
            disabled={draft.trim() === "" || draft.trim() === text}
            onClick={() => onDone(draft.trim())}
          >
            Keep
          </button>
          <button type="button" class="button" onClick={() => onDone("")}>
            Remove
          </button>
        </span>
      </td>
    </tr>
  );
}
