// Finds the team of a command's argument: by id, end of id, or name. Without an argument, the latest of the project.
import { printableLabel } from "../../print/session-label.ts";
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { CommandContext } from "../../parse/command.ts";

export async function findTeam(api: Api, ctx: CommandContext, query: string | undefined): Promise<Session> {
  if (query !== undefined) return api.session.find({ wanted: query, directory: ctx.cwd });
  const [latest] = await api.team.list({ project: ctx.project, limit: 1 });
  if (latest !== undefined) return latest.session;
  throw new Fault("session-unknown", "there is no team in this project yet", { hint: 'skein team run "objective"' });
}

/** Adds a hint if another process leads the team. The default hint, to fork the session, does not help with a team. */
export async function explainBusyTeam<T>(session: Session, turn: Promise<T>): Promise<T> {
  try {
    return await turn;
  } catch (error) {
    if (!(error instanceof Fault && error.code === "session-busy")) throw error;
    const name = printableLabel(session);
    const hint = `skein team status ${name} shows its progress, skein attach ${name} watches it, skein team stop ${name} stops it`;
    throw new Fault("session-busy", error.message, { hint, cause: error });
  }
}
