// The team that a command's argument names: by id, tail or name; without one, the latest of the project.
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { CommandContext } from "../../parse/command.ts";
import { stripControls } from "../../terminal/style.ts";

export async function findTeam(api: Api, ctx: CommandContext, wanted: string | undefined): Promise<Session> {
  if (wanted !== undefined) return api.session.find({ wanted, directory: ctx.cwd });
  const [latest] = await api.team.list({ project: ctx.project, limit: 1 });
  if (latest !== undefined) return latest.session;
  throw new Fault("session-unknown", "there is no team in this project yet", { hint: 'skein team run "objective"' });
}

/** What people call it. */
export function sessionLabel({ name, id }: Pick<Session, "name" | "id">): string {
  return stripControls(name ?? shortId(id));
}

/** A turn of it, or what to do when another process leads it: a fork, as of other sessions, would only remember the team. */
export async function explainBusyTeam<T>(session: Session, turn: Promise<T>): Promise<T> {
  try {
    return await turn;
  } catch (error) {
    if (!(error instanceof Fault && error.code === "session-busy")) throw error;
    const name = sessionLabel(session);
    const hint = `skein team status ${name} shows how far it is, skein attach ${name} watches it, skein team stop ${name} ends it`;
    throw new Fault("session-busy", error.message, { hint, cause: error });
  }
}
