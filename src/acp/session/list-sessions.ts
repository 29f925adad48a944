// The sessions of a project or of all projects, whichever front end began them, in pages.
import type { ListSessionsResponse, SessionInfo } from "@agentclientprotocol/sdk";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { invalidParams } from "../server/request-errors.ts";

const pageSize = 100;
const maxTitle = 80;

type ListParams = {
  /** Null lists all projects. */
  project: string | null;
  /** The number of sessions before the page; null is the first page. */
  cursor: string | null;
};

export async function listSessions(api: Api, { project, cursor }: ListParams): Promise<ListSessionsResponse> {
  const first = parseCursor(cursor);
  const stored = await api.session.list({ project, limit: first + pageSize + 1 });
  const page = stored.slice(first, first + pageSize);
  const hasMore = stored.length > first + pageSize;
  return { sessions: page.map(sessionInfo), ...(hasMore ? { nextCursor: String(first + pageSize) } : {}) };
}

function parseCursor(cursor: string | null): number {
  if (cursor === null) return 0;
  const first = Number(cursor);
  if (/^\d{1,9}$/.test(cursor) && first % pageSize === 0) return first;
  throw invalidParams("the cursor is not from an earlier answer");
}

function sessionInfo({ id, name, task, agent, model, directory, updatedAt }: Session): SessionInfo {
  return {
    sessionId: id,
    cwd: directory,
    title: name ?? (task === null ? "New session" : oneLine(task, maxTitle)),
    updatedAt: new Date(updatedAt).toISOString(),
    _meta: { skein: { name, agent, model } },
  };
}
