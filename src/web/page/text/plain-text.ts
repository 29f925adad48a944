// Output of programs as plain text for the page: without colours and control characters. Marks that reverse the direction of
// text are shown, because they can hide what a command does.

const escapeSequence = new RegExp(
  String.raw`${"\u001b"}(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^${"\u0007\u001b"}]*(?:${"\u0007"}|${"\u001b"}\\)?|[@-Z\\-_])`,
  "g",
);

export function plainText(text: string): string {
  return showDirections(
    text
      .replaceAll(escapeSequence, "")
      .split("\n")
      .map(lastOverwrite)
      .join("\n")
      .replaceAll(/[^\P{Cc}\n\t]/gu, ""),
  );
}

/** The text after the last carriage return. One or more at the end of the line overwrite nothing. */
function lastOverwrite(line: string): string {
  // A pattern would read a long line once for each of its characters.
  let end = line.length;
  while (line[end - 1] === "\r") end -= 1;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}

/** Directional marks as their code, for example U+202E. */
export function showDirections(text: string): string {
  return text.replaceAll(/[\u202A-\u202E\u2066-\u2069]/g, (mark) => `[U+${mark.codePointAt(0)!.toString(16).toUpperCase()}]`);
}
