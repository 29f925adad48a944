// race: gives the same task to several agents at once, each in its own worktree.
import { Fault } from "../../../protocol/api/error.ts";
import { toPrintedJson } from "../../../protocol/json/json-case.ts";
import { parseContestants } from "../../../protocol/race/contestants.ts";
import type { RaceTask } from "../../../protocol/race/race.ts";
import type { RaceView } from "../../../protocol/race/views.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { findSession, takeTurn } from "../../turn/take-turn.ts";
import { tool, type CallContext, type ToolInput } from "../tool.ts";
import { catchTeamErrors, teamErrorAnswer } from "./team-errors.ts";

export const race = tool("race", {
  description:
    "Give one task to several agents at once, each in its own git worktree, and compare them. The user adopts one. Call it again with the same session_id to continue after an interruption or to read the result.",
  async run(input, ctx) {
    const existing = await findRace(ctx, input.session_id);
    if (existing !== null && existing.task !== input.task)
      return teamErrorAnswer("SPAWN_FAILED", `session "${input.session_id}" has a race with another task; use another session_id`, {
        task: existing.task,
      });
    if (existing?.state === "ended") return raceAnswer(existing);
    const turn = { race: existing === null ? requestOf(input) : ({ work: "resume" } satisfies RaceTask), steerable: false };
    const agent = parseContestants(input.agents.join(","), null)[0]!.agent;
    return catchTeamErrors(async () => {
      const request = { sessionId: input.session_id, prompt: input.task, agent, turn, open: () => openRace(input, agent, ctx) };
      const answer = await takeTurn(request, ctx);
      const view = await findRace(ctx, input.session_id);
      if (view === null) return answer;
      const table = view.state === "running" ? answer.text : raceText(view);
      return { ...answer, output: { ...answer.output, race: toPrintedJson(view) as Record<string, unknown> }, text: table };
    });
  },
});

type Input = ToolInput<"race">;

function requestOf({ task, agents, check, adopt_first_passing }: Input): RaceTask {
  const contestants = parseContestants(agents.join(","), null);
  const defaults = { checkTimeoutMs: 600_000, withChanges: false, withIgnored: false };
  return { work: "run", wish: { task, contestants, check: check ?? null, adoptFirstPassing: adopt_first_passing, ...defaults } };
}

async function openRace({ session_id, from_session }: Input, agent: string, { api, directory }: CallContext) {
  if (from_session !== undefined) {
    const { id } = await api.session.find({ wanted: from_session, directory });
    return api.session.fork({ session: id, at: null, name: session_id });
  }
  const none = { model: null, task: null, parentSession: null, transcriptDir: null };
  return api.session.open({ find: { by: "new" }, name: session_id, directory, agent, toolLevel: "orchestrator", ...none });
}

/** Null if the session does not exist or has no race. */
async function findRace({ api, directory }: CallContext, sessionId: string): Promise<RaceView | null> {
  const session = await findSession(api, sessionId, directory);
  if (session === null) return null;
  try {
    return await api.race.show({ session: session.id });
  } catch (error) {
    if (error instanceof Fault && error.code === "session-unknown") return null;
    throw error;
  }
}

function raceAnswer(view: RaceView) {
  const output = {
    status: view.status ?? view.state,
    session_id: view.name ?? view.sessionId,
    race: toPrintedJson(view) as Record<string, unknown>,
  };
  return { output, text: raceText(view), isError: view.status !== "ok" };
}

/** One line for each agent, and the next step. */
function raceText(view: RaceView): string {
  const lines = view.racers.map((racer) => {
    const check = racer.check === null ? "" : racer.check.passed ? ", check passed" : ", check failed";
    const cost = racer.costUsd === null ? "" : `, $${racer.costUsd.toFixed(4)}`;
    const files = `${racer.files?.length ?? "?"} files, +${racer.added} -${racer.removed}`;
    return `- ${racer.key} (session ${shortId(racer.sessionId)}): ${racer.status ?? racer.state}${check}; ${files}${cost}${racer.error === null ? "" : `; ${racer.error}`}`;
  });
  const adopted = view.racers.find(({ sessionId }) => sessionId === view.adopted?.session);
  const next =
    adopted === undefined
      ? view.racers
          .filter(({ key }) => key === view.proposed)
          .map(({ key, sessionId }) => `Proposed: ${key}. The user adopts it with: skein race adopt ${shortId(sessionId)}`)
      : [`${adopted.key} was adopted.`];
  return [`The race is ${view.state}.`, ...lines, ...next].join("\n");
}
