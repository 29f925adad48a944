// The Api methods of teams: reads them from their sessions, with the usage of their members. They neither start nor stop a
// team; a message or a new member is left in its directory for the turn that leads it.
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { parseMailValue } from "../../protocol/team/read-mail.ts";
import { routeMessage } from "../../protocol/team/address.ts";
import { findPlanProblems, planConstraints } from "../../protocol/team/plan.ts";
import { markRunningAsWaiting, markFailedForRetry, membersOf, joinedCommit } from "../../protocol/team/team.ts";
import {
  countMembers,
  isActive,
  mergeState,
  teamState,
  type TeamAddParams,
  type TeamAddResult,
  type TeamApi,
  type TeamDiff,
  type TeamMessageParams,
  type TeamMessageResult,
  type TeamInfo,
  type TeamView,
} from "../../protocol/team/views.ts";
import { addSpent, zeroSpent, type Spent } from "../../protocol/tree/usage.ts";
import type { Store, SubSession } from "../../store/store.ts";
import { cleanTeams } from "./clean-teams.ts";
import type { EngineDeps } from "../engine.ts";
import { findTeam, findTeams, type FoundTeam } from "./find-teams.ts";

export function createTeamMethods(deps: EngineDeps): TeamApi {
  return {
    list: (params) => listTeams(deps, params),
    show: async ({ session }) => viewOf(deps, await findTeam(deps, session)),
    diff: async ({ session }) => diffOf(deps, await findTeam(deps, session)),
    message: (params) => post(deps, params),
    add: (params) => add(deps, params),
    clean: (params) => cleanTeams(deps, params),
  };
}

async function listTeams(deps: EngineDeps, { project, limit }: { project: string | null; limit: number }): Promise<TeamInfo[]> {
  const all = (await findTeams(deps, project, limit)).filter(({ info }) => info.session.archivedAt === null);
  return Promise.all(all.map((team) => infoOf(deps, team)));
}

async function infoOf(deps: EngineDeps, { info, team }: FoundTeam): Promise<TeamInfo> {
  if (!isActive(info.state)) markRunningAsWaiting(team);
  const { session, turn } = info;
  const { objective, strategy } = team.wish;
  return {
    session,
    state: teamState(team, info),
    objective,
    strategy,
    phases: team.phases.length,
    members: countMembers(team),
    messages: team.messages.length,
    spent: await spentBy(await deps.store(), session.id, await (await deps.store()).subSessions(session.id)),
    startedAt: turn.startedAt,
    endedAt: turn.endedAt,
    merge: mergeState(team),
    isKept: deps.teams.isKept(session.project, session.id),
  };
}

/** Turns of the agent `team` use no model, but other agents may have taken turns in its session. */
async function spentBy(store: Store, session: string, subSessions: readonly SubSession[]): Promise<Spent> {
  const turns = (await store.turnsOf(session)).map(({ usage, costUsd }) => ({ usage, costUsd }));
  return [...turns, ...subSessions.map(({ spent }) => spent)].reduce(addSpent, zeroSpent);
}

async function viewOf(deps: EngineDeps, { info, team }: FoundTeam): Promise<TeamView> {
  if (!isActive(info.state)) markRunningAsWaiting(team);
  const store = await deps.store();
  const { session, turn, state, pid } = info;
  const subSessions = await store.subSessions(session.id);
  const asks = await store.asks(null);
  const members = membersOf(team).map((member) => {
    const all = withSubSessions(member.session, subSessions);
    const sessions = new Set(all.map((each) => each.session));
    return {
      id: member.id,
      spent: all.map(({ spent }) => spent).reduce(addSpent, zeroSpent),
      steps: all.reduce((sum, { steps }) => sum + steps, 0),
      startedAt: all[0]?.startedAt ?? null,
      endedAt: all[0]?.endedAt ?? null,
      asks: asks.filter((ask) => sessions.has(ask.session)).map(({ id, question }) => ({ id, question })),
    };
  });
  const { startedAt, endedAt, status, error } = turn;
  return {
    session,
    state: teamState(team, info),
    team,
    run: { state, pid, startedAt, endedAt, status, error },
    spent: await spentBy(store, session.id, subSessions),
    members,
    merge: mergeState(team),
    isKept: deps.teams.isKept(session.project, session.id),
  };
}

function withSubSessions(session: string, all: readonly SubSession[]): SubSession[] {
  const first = all.filter((candidate) => candidate.session === session);
  return [...first, ...all.filter(({ parent }) => parent === session).flatMap((child) => withSubSessions(child.session, all))];
}

async function diffOf(deps: EngineDeps, { info: { session }, team }: FoundTeam): Promise<TeamDiff> {
  const work = joinedCommit(team);
  if (mergeState(team) === "nothing" || work === null || team.base === null)
    throw new Fault("usage", "the team has no work to merge", {
      hint: `skein team status ${shortId(session.id)} shows what it did`,
    });
  requireDirectory(deps, { id: session.id, project: session.project });
  return { session: session.id, ...(await deps.teams.diff(session.project, team, { base: team.base, work })) };
}

function requireDirectory(deps: EngineDeps, { id, project }: { id: string; project: string }): void {
  if (deps.teams.isKept(project, id)) return;
  throw new Fault("usage", `the directory of team ${shortId(id)} was removed`, {
    hint: "its conversations still exist: skein show",
  });
}

async function post(deps: EngineDeps, { session: idOrName, ...message }: TeamMessageParams): Promise<TeamMessageResult> {
  const { info, team } = await findTeam(deps, idOrName);
  const { id, project } = info.session;
  if (team.end?.event === "session_completed") throw new Fault("usage", "the team has finished, so no member reads messages");
  requireDirectory(deps, { id, project });
  const { replyTo: reply_to, requiresResponse: requires_response, ...rest } = message;
  const mail = { ...rest, reply_to, requires_response };
  const parsed = parseMailValue(mail);
  if (parsed.type === "refused") throw new Fault("usage", `the message can't be sent: ${parsed.reason}`);
  if (!isActive(info.state)) markFailedForRetry(team);
  const members = membersOf(team).map(({ id: name, instance, plan: { key, role, suffix } }) => ({ id: name, key, role, suffix, instance }));
  const states = new Map(membersOf(team).map((member) => [member.id, member.state]));
  const { delivered, undelivered } = routeMessage(message, "person", {
    members,
    hasEnded: (name) => ["completed", "failed"].includes(states.get(name) ?? ""),
  });
  if (delivered.length === 0)
    throw new Fault("usage", `the message would reach no member: ${undelivered.map(({ to, reason }) => `${to}: ${reason}`).join("; ")}`, {
      hint: `the members are ${members.map(({ key }) => key).join(", ")}`,
    });
  const posted = deps.teams.post(project, id, mail);
  return { id: posted, reaches: delivered, misses: undelivered, when: isActive(info.state) ? "now" : "resumed" };
}

async function add(deps: EngineDeps, { session: idOrName, member }: TeamAddParams): Promise<TeamAddResult> {
  const { info, team } = await findTeam(deps, idOrName);
  const { id, project } = info.session;
  requireDirectory(deps, { id, project });
  const { roles } = await deps.roles(project);
  const problems = findPlanProblems([{ name: "added", goal: "", members: [member] }], planConstraints(team, roles));
  if (problems.length > 0) throw new Fault("usage", `the member can't be added: ${problems.join("; ")}`);
  deps.teams.ask(project, id, member);
  return { key: member.key, when: isActive(info.state) ? "next" : "resumed" };
}
