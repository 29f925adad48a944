// A unified diff in rows: what changed in colour, with the numbers of the lines in the file as it is now (or was, for
// what is gone). The lines around it are painted as code.
import type { TextRun } from "../../kit/text/ansi.ts";
import { bad, code, faint, good } from "../layout/styles.ts";
import { strip, type BlockReader, type Strip } from "./strips.ts";
import { findLanguage, colorLine, type SyntaxState } from "./syntax.ts";
import { blanks, wrapRuns } from "../layout/wrap.ts";

type State = { before: string; old: number; now: number; painting: SyntaxState };

const numberColumns = 5;

export const diff: BlockReader<State> = {
  start: { before: "", old: 0, now: 0, painting: { language: null, until: null } },
  line: (line, state, columns) => {
    const name = /^(---|\+\+\+) (?:[ab]\/)?(.*?)\t?$/.exec(line);
    if (name !== null && state.old === 0) return nameLine(name[1] === "---", name[2] ?? "", state, columns);
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line);
    if (hunk !== null) {
      const [, old = "", now = "", rest = ""] = hunk;
      const shown = [blanks(numberColumns + 1), { text: `@@${rest}`, style: code }];
      const next = { ...state, old: Number(old) || 1, now: Number(now) || 1, painting: { ...state.painting, until: null } };
      const saysNothing = state.old === 0 && rest.trim() === "";
      return { strips: saysNothing ? [] : [strip(() => wrapRuns(shown, columns))], state: next };
    }
    // A line of the head of the next file.
    if (/^(diff|index|new file|deleted file|old mode|new mode|similarity|rename) /.test(line))
      return { strips: [], state: { ...state, old: 0, now: 0 } };
    return state.old === 0 ? { strips: [plainStrip(line, columns)], state } : changedLine(line, state, columns);
  },
};

function nameLine(isOld: boolean, name: string, state: State, columns: number): { strips: Strip[]; state: State } {
  if (isOld) return { strips: [], state: { ...state, before: name } };
  const shown = shownName(state.before, name);
  const language = findLanguage(/\.(\w+)$/.exec(name)?.[1] ?? "");
  return {
    strips: [strip(() => wrapRuns([{ text: shown, style: { bold: true } }], columns))],
    state: { ...state, painting: { language: language === "diff" ? null : language, until: null } },
  };
}

function changedLine(line: string, state: State, columns: number): { strips: Strip[]; state: State } {
  const sign = line.charAt(0);
  const text = line.slice(1);
  const hang = blanks(numberColumns + 2);
  const rows = (number: number | null, mark: TextRun, runs: TextRun[]) =>
    strip(() => wrapRuns([{ text: `${number ?? ""} `.padStart(numberColumns), style: faint }, mark, ...runs], columns, hang));
  if (sign === "+")
    return { strips: [rows(state.now, { text: "+ ", style: good }, [{ text, style: good }])], state: { ...state, now: state.now + 1 } };
  if (sign === "-")
    return { strips: [rows(state.old, { text: "- ", style: bad }, [{ text, style: bad }])], state: { ...state, old: state.old + 1 } };
  if (sign === "\\") return { strips: [rows(null, { text: "  ", style: faint }, [{ text: line, style: faint }])], state };
  const painted = colorLine(text, state.painting);
  const next = { ...state, old: state.old + 1, now: state.now + 1, painting: painted.painting };
  return { strips: [rows(state.now, { text: "  ", style: faint }, painted.runs)], state: next };
}

function plainStrip(line: string, columns: number): Strip {
  return strip(() => wrapRuns([{ text: line, style: faint }], columns));
}

/** What it is about, and how many lines came and went; null for what is no diff of files. */
export function diffCounts(text: string): { name: string; added: number; gone: number } | null {
  const names = /^--- (?:a\/)?(.*)\n\+\+\+ (?:b\/)?(.*)$/m.exec(text);
  if (names === null) return null;
  const count = (sign: RegExp) => text.match(sign)?.length ?? 0;
  const name = shownName(names[1] ?? "", names[2] ?? "");
  return { name, added: count(/^\+(?!\+\+ )/gm), gone: count(/^-(?!-- )/gm) };
}

function shownName(before: string, after: string): string {
  if (after === "/dev/null") return `${before} (deleted)`;
  return before === "/dev/null" ? `${after} (created)` : after;
}
