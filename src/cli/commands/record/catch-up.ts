// skein catch-up: what was asked, done, changed, tested and left open in a session, in at most ten lines.
import { oneLine, pluralize } from "../../../kit/text/cut-text.ts";
import { ago } from "../../../kit/text/duration.ts";
import type { CatchUpReport } from "../../../protocol/schema/views/catch-up-views.ts";
import { costText } from "../../../protocol/tree/usage-text.ts";
import { printableLabel } from "../../print/session-label.ts";
import { progressLine } from "../../terminal/progress.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { cutToWidth } from "../../terminal/table.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { sessionReport } from "../report-command.ts";

export const catchUp = sessionReport({
  name: "catch-up",
  summary: "show in ten lines what a session asked, did, changed, tested and left open",
  usage: "[session] [--prose] [-m model] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "prose", summary: "a model also writes a summary; this costs one request" },
    { name: "model", short: "m", value: "model", summary: "the model of --prose (default: the default model)" },
  ],
  notes: `All lines are facts from the record; no model is asked without --prose. It also takes
sessions of other agents (skein list --agents all). Their file changes are not
recorded, so "changed" lists the files that their edit and write calls named.`,
  async report({ api, session, args, ctx }) {
    const hasProse = args.flags["prose"] === true;
    if (!hasProse && args.flags["model"] !== undefined)
      throw new Fault("usage", "--model is the model of --prose", { hint: "add --prose" });
    const facts = await api.session.catchUp({ session: session.id, directory: ctx.cwd });
    const progress = progressLine(ctx);
    if (hasProse) progress.show("a model writes the summary ...");
    const prose = hasProse
      ? await api.session
          .describe({
            session: session.id,
            directory: ctx.cwd,
            model: (args.flags["model"] as string | undefined) ?? null,
            instructions: null,
            anew: false,
            limitMs: 120_000,
          })
          .finally(progress.clear)
      : null;
    return {
      json: prose === null ? facts : { ...facts, summary: prose.summary ?? null },
      text: (style) => `${linesOf(facts, style, ctx.out.columns).join("\n")}\n${proseText(prose?.summary)}`,
      remarks: () => (prose !== null && prose.summary === undefined ? `${stripControls((prose.notes ?? []).join("; "))}\n` : ""),
    };
  },
});

function proseText(summary: string | undefined): string {
  return summary === undefined ? "" : `\n${stripControls(summary)}\n`;
}

function linesOf(facts: CatchUpReport, style: Style, width: number): string[] {
  const { session, agents, turns, endedAt, status } = facts;
  const when = endedAt === null ? [] : [ago(Date.now() - endedAt)];
  const head = [agents.join(", ") || session.agent, pluralize(turns, "turn"), ...when, status ?? "no turn has ended", costText(facts)];
  const rows: [title: string, text: string][] = [
    ["asked", facts.asked ?? "nothing yet"],
    ["last", facts.lastAsked ?? ""],
    ["done", facts.tools.map(toolText).join(", ")],
    ["changed", changedText(facts)],
    ["tested", facts.tested.map(testText).join("; ")],
    ["commits", facts.commits.join("; ")],
    ["errors", facts.errors.at(-1) ?? ""],
    ["answer", facts.answer ?? ""],
    ["open", facts.open.join("; ") || "nothing that the record shows"],
  ];
  const title = `${style.bold(printableLabel(session))}  ${style.dim(stripControls(head.join(" · ")))}`;
  return [title, ...rows.filter(([, text]) => text !== "").map(([name, text]) => rowText(name, text, style, width))];
}

function rowText(name: string, text: string, style: Style, width: number): string {
  const prefix = name.padEnd(9);
  return style.dim(prefix) + cutToWidth(oneLine(stripControls(text), 2 * width), width - prefix.length);
}

function toolText({ name, calls, failed }: CatchUpReport["tools"][number]): string {
  return `${name} ${calls}${failed > 0 ? ` (${failed} failed)` : ""}`;
}

function testText({ command, runs, failed, ok }: CatchUpReport["tested"][number]): string {
  const counts = runs === 1 ? "" : `, ${failed} of ${runs} runs failed`;
  return `${command}: ${ok ? "ok" : "failed"}${counts}`;
}

function changedText({ files, namedFiles }: CatchUpReport): string {
  if (files === null) return namedFiles.length === 0 ? "not recorded" : `${pluralize(namedFiles.length, "file")}: ${namedFiles.join(", ")}`;
  if (files.length === 0) return "no file";
  const texts = files.map(({ path, kind, added, removed }) => `${path} ${kind === "deleted" ? "deleted" : `+${added} -${removed}`}`);
  return `${pluralize(files.length, "file")}: ${texts.join(", ")}`;
}
