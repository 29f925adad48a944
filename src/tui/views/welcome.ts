// The first screen, before the first message: name and version, agent and model, directory, what is missing, three things
// to try, and how to get help.
import { accent, bad, faint, heading } from "../layout/styles.ts";
import { fit, styled, wrapRuns, type Row } from "../layout/wrap.ts";
import type { State } from "../model/state.ts";
import { hintFor } from "../keys/hint.ts";
import { directoryText, whoText } from "./info.ts";

export function welcomeRows(state: State, height: number): Row[] {
  const columns = Math.max(4, state.size.columns - 2);
  const { about } = state;
  const branch = about.branch === null ? "" : ` (${fit(about.branch, 40)})`;
  const title: Row = [styled("skein", heading), styled(about.version === "" ? "" : ` ${about.version}`, faint)];
  const place: Row[] = about.directory === "" ? [] : [[styled(fit(`${whoText(state)} · ${directoryText(state)}${branch}`, columns))]];
  const problem = about.problem === null ? [] : problemRows(about.problem, columns);
  const hint: Row[] = wrapRuns([styled(hintOf(state), faint)], columns);
  const groups = [[title, ...place], problem, state.isPlanning || about.problem !== null ? [] : exampleRows(state, columns), hint];
  const full = groups.filter((group) => group.length > 0).flatMap((group, index) => (index === 0 ? group : [[], ...group]));
  // On a low screen only the title, the problem and the hint are shown.
  const rows = full.length <= height ? full : [title, ...place, ...problem, ...hint];
  return rows.slice(0, Math.max(1, height)).map((row) => (row.length === 0 ? row : [styled("  "), ...row]));
}

function problemRows({ text, hint }: { text: string; hint: string | null }, columns: number): Row[] {
  return [
    ...wrapRuns([styled(`✗ ${text}`, bad)], columns, styled("  ")),
    ...(hint?.split("\n") ?? []).flatMap((line) => wrapRuns([styled(`  ${line}`)], columns, styled("  "))),
  ];
}

function exampleRows({ bindings }: State, columns: number): Row[] {
  const examples: [words: string, meaning: string][] = [
    ["what does this project do?", "ask about the code"],
    ["fix the failing test in @", "change it; @ completes file names"],
    [hintFor(bindings, "resume"), "go on with an earlier session"],
  ];
  return [
    [styled("Try", faint)],
    ...examples.map(([words, meaning]): Row => [
      styled(fit(`  ${words.padEnd(28)}`, columns), accent),
      styled(fit(meaning, Math.max(0, columns - 31)), faint),
    ]),
  ];
}

function hintOf({ isPlanning, mode, bindings }: State): string {
  if (isPlanning) return `Describe what to plan. Only .skein/plan.md is written; ${hintFor(bindings, "exec", "Space x")} executes it.`;
  if (bindings.preset === "plain") return "Type a task and press Enter. /help shows commands and keys.";
  return mode === "normal"
    ? "Press i to type a message, Space for commands, ? for all keys."
    : "Type a message. Space shows commands; Esc, then ?, shows all keys.";
}
