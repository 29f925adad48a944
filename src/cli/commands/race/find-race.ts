// Finds the race of a command's argument: by id, end of id, or name. Without an argument, the latest of the project.
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { RacerView } from "../../../protocol/race/views.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { CommandContext } from "../../parse/command.ts";
import { printableLabel } from "../../print/session-label.ts";

/** The race's own session, also if the argument is the session of one of its agents. */
export async function findRace(api: Api, ctx: CommandContext, query: string | undefined): Promise<Session> {
  const race = query === undefined ? await latestRace(api, ctx) : (await api.session.find({ wanted: query, directory: ctx.cwd })).id;
  if (race === null)
    throw new Fault("session-unknown", "there is no race in this project yet", { hint: 'skein race "task" -a claude,codex' });
  const { sessionId } = await api.race.show({ session: race });
  return api.session.find({ wanted: sessionId, directory: ctx.cwd });
}

/** The id of the session: of an agent of the latest race, by its name there, or of any session. */
export async function findRacer(api: Api, ctx: CommandContext, query: string): Promise<string> {
  const latest = await latestRace(api, ctx);
  const racers: RacerView[] = latest === null ? [] : (await api.race.show({ session: latest })).racers;
  const racer = racers.find(({ key }) => key === query);
  if (racer !== undefined) return racer.sessionId;
  try {
    return (await api.session.find({ wanted: query, directory: ctx.cwd })).id;
  } catch (error) {
    if (racers.length === 0 || !(error instanceof Fault && error.code === "session-unknown")) throw error;
    const keys = racers.map(({ key }) => key).join(", ");
    const hint = `the latest race had ${keys}; name an agent of an earlier race by its session: skein race show <race>`;
    throw new Fault("session-unknown", error.message.replace("there is no session", "there is no agent and no session"), { hint });
  }
}

async function latestRace(api: Api, ctx: CommandContext): Promise<string | null> {
  const [latest] = await api.race.list({ project: ctx.project, limit: 1 });
  return latest?.sessionId ?? null;
}

/** Adds a hint if another process runs the race. The default hint, to fork the session, does not help with a race. */
export async function explainBusyRace<T>(session: Session, turn: Promise<T>): Promise<T> {
  try {
    return await turn;
  } catch (error) {
    if (!(error instanceof Fault && error.code === "session-busy")) throw error;
    const name = printableLabel(session);
    const hint = `skein race show ${name} shows it, skein attach ${name} watches it, skein kill ${name} stops it`;
    throw new Fault("session-busy", error.message, { hint, cause: error });
  }
}
