// The sessions of other agents in `skein list` and `skein search`: --agents, the progress of the first reading, and their rows.
import { groupDigits, oneLine } from "../../../kit/text/cut-text.ts";
import { ago } from "../../../kit/text/duration.ts";
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import { Fault } from "../../../protocol/api/error.ts";
import {
  type AgentTranscript,
  type IndexProgress,
  type TranscriptAgent,
  transcriptAgents,
} from "../../../protocol/transcripts/agent-transcript.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { progressLine } from "../../terminal/progress.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { type DroppableColumn, fittingColumns, itemTable } from "../../terminal/table.ts";
import type { Report } from "../report-command.ts";

export const agentsFlag = { name: "agents", value: "names", summary: "also the sessions of other agents: all, or claude,codex,..." };

/** Null without the flag. */
export function agentsOf({ flags }: Args): readonly TranscriptAgent[] | null {
  const text = flags["agents"] as string | undefined;
  if (text === undefined) return null;
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("all")) return transcriptAgents;
  return names.map((name) => {
    const agent = transcriptAgents.find((known) => known === name);
    if (agent !== undefined) return agent;
    const near = nearestWord(name, transcriptAgents);
    throw new Fault("usage", `--agents has no "${name}"`, {
      hint: near === null ? `it takes all, or some of ${transcriptAgents.join(", ")}` : `did you mean ${near}?`,
    });
  });
}

/** Shows the progress of reading transcripts while `act` runs. */
export async function withIndexProgress<Result>(
  ctx: Pick<CommandContext, "err">,
  act: (onProgress: (progress: IndexProgress) => void) => Promise<Result>,
): Promise<Result> {
  const line = progressLine(ctx);
  const startedAt = Date.now();
  let shownAt = 0;
  return act((progress) => {
    const now = Date.now();
    if (now - startedAt < 500 || now - shownAt < 100) return;
    shownAt = now;
    line.show(progressText(progress));
  }).finally(line.clear);
}

function progressText({ files, doneFiles, bytes, doneBytes }: IndexProgress): string {
  const percent = bytes === 0 ? 100 : Math.floor((100 * doneBytes) / bytes);
  return `reading transcripts: ${groupDigits(doneFiles)} of ${groupDigits(files)}, ${groupDigits(doneBytes >> 20)} of ${groupDigits(bytes >> 20)} MB, ${percent} %`;
}

type ListRequest = { agents: readonly TranscriptAgent[]; limit: number };

/** Sessions of skein and transcripts that have none yet, the latest first. */
export async function listWithTranscripts({ flags }: Args, ctx: CommandContext, { agents, limit }: ListRequest): Promise<Report> {
  const isAll = flags["all"] === true;
  const project = isAll ? null : ctx.project;
  const archived = flags["archived"] === true;
  const api = await ctx.api();
  const found = await withIndexProgress(ctx, (onProgress) =>
    api.transcript.list({ agents: [...agents], project, limit: limit + 1, onProgress }),
  );
  const sessions = await api.session.list({ project, archived, subSessions: isAll, limit: limit + 1 });
  const rows = [
    ...sessions.map((session) => ({ at: session.updatedAt, session, transcript: null })),
    ...found.filter(({ session }) => session === null).map((transcript) => ({ at: transcript.updatedAt, session: null, transcript })),
  ]
    .toSorted((a, b) => b.at - a.at)
    .map(rowOf);
  const listed = rows.slice(0, limit);
  return {
    json: {
      sessions: listed.flatMap(({ session }) => session ?? []),
      transcripts: listed.flatMap(({ transcript }) => transcript ?? []),
    },
    text: (style) => {
      if (flags["names"] === true) return listed.map(({ id }) => `${id}\n`).join("");
      if (listed.length > 0) return tableOf(listed, { isAll, width: ctx.out.columns, style });
      return isAll ? "no agent has a session on this machine\n" : "no agent has a session of this project (--all lists those of others)\n";
    },
    remarks: (style) => {
      const more = rows.length > limit ? `more: --limit ${limit * 2}\n` : "";
      const hint = listed.some(({ transcript }) => transcript !== null) ? 'continue one: skein run --session <id> "..."\n' : "";
      return style.dim(more + hint);
    },
  };
}

type Row = {
  id: string;
  at: number;
  agent: string;
  model: string;
  directory: string;
  task: string;
  session: Session | null;
  transcript: AgentTranscript | null;
};

function rowOf(entry: { at: number } & ({ session: Session; transcript: null } | { session: null; transcript: AgentTranscript })): Row {
  const { at, session, transcript } = entry;
  if (session !== null) {
    const { id, name, agent, model, project, latestPrompt, task, source, tip } = session;
    const label = name === null ? shortId(id) : `${oneLine(stripControls(name), 24)} ${shortId(id)}`;
    // Nobody has continued an imported session whose tip is still that of its transcript.
    const writer = source !== undefined && source.tip === tip ? source.agent : agent;
    const words = latestPrompt ?? task ?? "";
    return { id: label, at, agent: writer, model: shortModel(model), directory: project, task: words, session, transcript };
  }
  const { id, agent, model, directory, latestPrompt, task } = transcript;
  const words = latestPrompt ?? task ?? "";
  return { id: id.slice(-8), at, agent, model: shortModel(model), directory: directory ?? "?", task: words, session, transcript };
}

function shortModel(model: string | null): string {
  return model?.replace(/^[^/]*\//, "") ?? "-";
}

type TableContext = { isAll: boolean; width: number; style: Style };

function tableOf(rows: readonly Row[], { isAll, width, style }: TableContext): string {
  const columns: DroppableColumn<Row>[] = [
    { title: "SESSION", dropOrder: 0, cell: ({ id }) => id },
    { title: "USED", dropOrder: 0, cell: ({ at }) => ago(Date.now() - at) },
    { title: "AGENT", dropOrder: 0, cell: ({ agent }) => stripControls(agent) },
    { title: "MODEL", dropOrder: 1, cell: ({ model }) => stripControls(model) },
    { title: "PROJECT", dropOrder: 0, cell: ({ directory }) => (isAll ? endOfPath(stripControls(directory)) : "") },
    { title: "TASK", dropOrder: 0, cell: ({ task }) => oneLine(stripControls(task), 200) },
  ];
  return itemTable(rows, fittingColumns(columns, rows, width), { width, paintTitle: style.dim });
}

const maxPath = 24;

/** The end of a path says more than its beginning, and the task needs the room. */
function endOfPath(path: string): string {
  return path.length <= maxPath ? path : `…${path.slice(-(maxPath - 1))}`;
}
