// The comments of a reader on lines of a diff, and the one message in which they go back to the agent.

export type DiffSide = "old" | "new";

/** A line of a diff that a comment is about. `text` is the line without its sign. */
export type CommentedLine = { path: string; side: DiffSide; line: number; text: string };
export type ReviewComment = CommentedLine & { comment: string };

export function lineKey({ path, side, line }: CommentedLine): string {
  return `${path}\n${side}\n${line}`;
}

/** One message for all comments, in the order of the files and lines. Each names the file, the line, its side and its text. */
export function reviewMessage(comments: readonly ReviewComment[]): string {
  const sorted = comments.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1));
  const entries = sorted.map(({ path, side, line, text, comment }, index) => {
    const place = `${path}, line ${line} of the ${side === "new" ? "new" : "old"} version`;
    return `${index + 1}. ${place}:\n${quoted(text)}\n${indented(comment.trim())}`;
  });
  return `Review of your changes. Please address each comment.\n\n${entries.join("\n\n")}`;
}

function quoted(text: string): string {
  return `   > ${text.trim() === "" ? "(empty line)" : text.slice(0, 400)}`;
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `   ${line}`)
    .join("\n");
}
