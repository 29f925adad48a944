// skein undo and redo: take back the last turn of a session with its files, and put it back.
import { oneLine } from "../../../kit/text/cut-text.ts";
import type { UndoReport } from "../../../protocol/api/api.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Flag } from "../../parse/command.ts";
import { statText } from "../../print/changes.ts";
import { printableLabel } from "../../print/session-label.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { sessionReport, type Report, type SessionTarget } from "../report-command.ts";

const dryRunFlag: Flag = { name: "dry-run", summary: "print the changes and make none" };

export const undo = sessionReport({
  name: "undo",
  summary: "take back the last turn of a session: its conversation and its files",
  usage: "[session] [--dry-run] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [dryRunFlag],
  notes: `Without a session it is the project's current one. The session moves before the
prompt of its last turn, and the files that the turn changed become as they were.
A file that you or another session changed since stays as it is and is listed.
Nothing is deleted: \`skein redo\` puts the turn back, until the session gets a new
message. Several undos take back several turns.`,
  report: (target) => runStep(target, "undo"),
});

export const redo = sessionReport({
  name: "redo",
  summary: "put back the turn that the last undo took back",
  usage: "[session] [--dry-run] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [dryRunFlag],
  report: (target) => runStep(target, "redo"),
});

async function runStep({ api, session, args }: SessionTarget, step: "undo" | "redo"): Promise<Report> {
  const dryRun = args.flags["dry-run"] === true;
  const done = await api.session[step]({ session: session.id, dryRun });
  const { name } = session;
  // A name with a blank or a quote could not be pasted into a shell.
  const words = args.positionals.length === 0 ? "" : ` ${name !== null && /^[\w.-]+$/.test(name) ? name : shortId(session.id)}`;
  return {
    json: { ...done, dryRun },
    text: (style) => stepText(done, { step, dryRun, label: printableLabel(session) }, style),
    remarks: (style) => (step === "redo" || dryRun ? "" : style.dim(`put it back with: skein redo${words}\n`)),
  };
}

type StepWords = { step: "undo" | "redo"; dryRun: boolean; label: string };

export function stepText({ prompt, files, changes, kept }: UndoReport, { step, dryRun, label }: StepWords, style: Style): string {
  const verb = { undo: dryRun ? "would take back" : "took back", redo: dryRun ? "would put back" : "put back" }[step];
  const turn = prompt === null ? "the last turn" : `"${stripControls(oneLine(prompt, 60))}"`;
  const fileLines =
    files === "unknown"
      ? `${style.yellow("files unchanged:")} the files of this turn were not recorded\n`
      : files === "unchanged"
        ? "no files changed\n"
        : statText(changes, style);
  const keptLines = kept.map(
    (path) => `${style.yellow("not changed")} ${stripControls(path)}  ${style.dim("changed by others, or can't be restored")}\n`,
  );
  return `${verb} ${turn} in ${label}\n${fileLines}${keptLines.join("")}`;
}
