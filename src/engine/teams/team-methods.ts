// The Api methods of teams. They read a team from its session, with the usage of its members, and neither start nor stop it.
// They write a message or a new member to the team's directory, where the turn that leads the team reads it.
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { parseMailValue } from "../../protocol/team/read-mail.ts";
import { hasEnded, routeMessage, toAddressable } from "../../protocol/team/address.ts";
import { findPlanProblems, planConstraints } from "../../protocol/team/plan.ts";
import { markRunningAsWaiting, markFailedForRetry, membersOf, combinedCommit } from "../../protocol/team/team.ts";
import { countMembers, isActive, mergeState, teamState } from "../../protocol/team/views.ts";
import type { TeamAddParams, TeamAddResult, TeamApi, TeamInfo, TeamMessageParams, TeamMessageResult } from "../../protocol/team/views.ts";
import { addSpent, zeroSpent, type Spent } from "../../protocol/tree/usage.ts";
import type { SubSession } from "../../store/store.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { cleanTeams } from "./clean-teams.ts";
import type { EngineDeps } from "../engine.ts";
import { findTeam, findTeams, type FoundTeam } from "./find-teams.ts";

export function createTeamMethods(deps: EngineDeps): TeamApi {
  return {
    list: (params) => listTeams(deps, params),
    show: async ({ session }) => viewOf(deps, await findTeam(deps, session)),
    diff: async ({ session }) => diffOf(deps, await findTeam(deps, session)),
    message: (params) => postMessage(deps, params),
    add: (params) => addMember(deps, params),
    clean: (params) => cleanTeams(deps, params),
  };
}

async function listTeams(deps: EngineDeps, { project, limit }: { project: string | null; limit: number }): Promise<TeamInfo[]> {
  const teams = (await findTeams(deps, project, limit)).filter(({ info }) => info.session.archivedAt === null);
  return Promise.all(teams.map((team) => infoOf(deps, team)));
}

async function infoOf(deps: EngineDeps, found: FoundTeam): Promise<TeamInfo> {
  const { common } = await readCommon(deps, found);
  const { team, info } = found;
  const { objective, strategy } = team.wish;
  const counts = { phases: team.phases.length, members: countMembers(team), messages: team.messages.length };
  const { startedAt, endedAt } = info.turn;
  return { ...common, objective, strategy, ...counts, startedAt, endedAt };
}

/** The fields of both an info and a view of a team. */
async function readCommon(deps: EngineDeps, { info, team }: FoundTeam) {
  if (!isActive(info.state)) markRunningAsWaiting(team);
  const store = await deps.store();
  const { session } = info;
  const subSessions = await store.subSessions(session.id);
  // Turns of the agent `team` use no model, but other agents may have taken turns in its session.
  const turns = await store.turnsOf(session.id);
  const common = {
    session,
    state: teamState(team, info),
    spent: [...turns, ...subSessions.map(({ spent }) => spent)].reduce<Spent>(addSpent, zeroSpent),
    merge: mergeState(team),
    isKept: await deps.teams.isKept(session.project, session.id),
  };
  return { common, subSessions };
}

async function viewOf(deps: EngineDeps, found: FoundTeam) {
  const { common, subSessions } = await readCommon(deps, found);
  const { info, team } = found;
  const asks = await (await deps.store()).asks(null);
  const members = membersOf(team).map((member) => {
    const sessions = withSubSessions(member.session, subSessions);
    const sessionIds = new Set(sessions.map(({ session }) => session));
    return {
      id: member.id,
      spent: sessions.map(({ spent }) => spent).reduce(addSpent, zeroSpent),
      steps: sessions.reduce((sum, { steps }) => sum + steps, 0),
      startedAt: sessions[0]?.startedAt ?? null,
      endedAt: sessions[0]?.endedAt ?? null,
      asks: asks.filter(({ session }) => sessionIds.has(session)).map(({ id, question }) => ({ id, question })),
    };
  });
  const { startedAt, endedAt, status, error } = info.turn;
  return { ...common, team, run: { state: info.state, pid: info.pid, startedAt, endedAt, status, error }, members };
}

function withSubSessions(session: string, all: readonly SubSession[]): SubSession[] {
  const self = all.filter((candidate) => candidate.session === session);
  return [...self, ...all.filter(({ parent }) => parent === session).flatMap((child) => withSubSessions(child.session, all))];
}

async function diffOf(deps: EngineDeps, { info: { session }, team }: FoundTeam) {
  const work = combinedCommit(team);
  if (mergeState(team) === "nothing" || work === null || team.base === null)
    throw new Fault("usage", "the team has no work to merge", {
      hint: `skein team status ${shortId(session.id)} shows its work`,
    });
  await requireDirectory(deps, session);
  return { session: session.id, ...(await deps.teams.diff(session.project, team, { base: team.base, work })) };
}

async function requireDirectory(deps: EngineDeps, { id, project }: Session): Promise<void> {
  if (await deps.teams.isKept(project, id)) return;
  throw new Fault("usage", `the directory of team ${shortId(id)} was removed`, {
    hint: "its conversations still exist: skein show",
  });
}

async function postMessage(deps: EngineDeps, { session: idOrName, ...message }: TeamMessageParams): Promise<TeamMessageResult> {
  const { info, team } = await findTeam(deps, idOrName);
  const { id, project } = info.session;
  if (team.end?.event === "session_completed") throw new Fault("usage", "the team has finished, so no member reads messages");
  await requireDirectory(deps, info.session);
  const { replyTo: reply_to, requiresResponse: requires_response, ...sameNames } = message;
  const mail = { ...sameNames, reply_to, requires_response };
  const parsed = parseMailValue(mail);
  if (parsed.type === "refused") throw new Fault("usage", `the message can't be sent: ${parsed.reason}`);
  if (!isActive(info.state)) markFailedForRetry(team);
  const members = membersOf(team).map(toAddressable);
  const { delivered, undelivered } = routeMessage(message, "person", { members, hasEnded: (member) => hasEnded(team, member) });
  if (delivered.length === 0)
    throw new Fault("usage", `the message would reach no member: ${undelivered.map(({ to, reason }) => `${to}: ${reason}`).join("; ")}`, {
      hint: `the members are ${members.map(({ key }) => key).join(", ")}`,
    });
  const posted = await deps.teams.post(project, id, mail);
  return { id: posted, reaches: delivered, misses: undelivered, when: isActive(info.state) ? "now" : "resumed" };
}

async function addMember(deps: EngineDeps, { session: idOrName, member }: TeamAddParams): Promise<TeamAddResult> {
  const { info, team } = await findTeam(deps, idOrName);
  const { id, project } = info.session;
  await requireDirectory(deps, info.session);
  const { roles } = await deps.roles(project);
  const problems = findPlanProblems([{ name: "added", goal: "", members: [member] }], planConstraints(team, roles));
  if (problems.length > 0) throw new Fault("usage", `the member can't be added: ${problems.join("; ")}`);
  await deps.teams.requestMember(project, id, member);
  return { key: member.key, when: isActive(info.state) ? "next" : "resumed" };
}
