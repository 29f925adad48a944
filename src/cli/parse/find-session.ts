// Finds the session of a command's argument; without the argument, the project's current session.
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { CommandContext } from "./command.ts";

export async function findSession(api: Api, ctx: CommandContext, query: string | undefined): Promise<Session> {
  if (query !== undefined) return api.session.find({ wanted: query, directory: ctx.cwd });
  const current = await api.session.current({ directory: ctx.cwd });
  if (current !== null) return current;
  throw new Fault("session-unknown", "there is no session in this project yet", {
    hint: 'start one: skein run "task", or skein new <name>',
  });
}
