// The team that a command's argument names: by id, tail or name; without one, the latest of the project.
import type { Api } from "../../protocol/api.ts";
import { Fault } from "../../protocol/error.ts";
import type { Session } from "../../protocol/turn.ts";
import type { Door } from "../command.ts";

export async function teamNamed(api: Api, door: Door, wanted: string | undefined): Promise<Session> {
  if (wanted !== undefined) return api.session.find({ wanted, directory: door.cwd });
  const [latest] = await api.team.list({ project: door.project, limit: 1 });
  if (latest !== undefined) return latest.session;
  throw new Fault("session-unknown", "there is no team in this project yet", { hint: 'skein team run "objective"' });
}
