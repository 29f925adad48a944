// Teams as others see them: read off their sessions, with what their members used. It begins none and ends none; what is
// said to one is left in its directory for the turn that leads it.
import { Fault } from "../protocol/error.ts";
import { shortId } from "../protocol/node.ts";
import { readMail } from "../protocol/read-mail.ts";
import { route } from "../protocol/team-address.ts";
import { problemsOf } from "../protocol/team-plan.ts";
import { letRest, letWait, membersOf, workOf } from "../protocol/team.ts";
import {
  countMembers,
  isAtWork,
  mergeOf,
  stateOf,
  type TeamAdd,
  type TeamAdded,
  type TeamApi,
  type TeamDiff,
  type TeamMessage,
  type TeamPosted,
  type TeamRow,
  type TeamView,
} from "../protocol/team-views.ts";
import { addSpent, nothingSpent, type Spent } from "../protocol/usage.ts";
import type { Store, SubSession } from "../store/store.ts";
import { cleanTeams } from "./clean-teams.ts";
import type { EngineParts } from "./engine.ts";
import { found, foundIn, type Found } from "./find-teams.ts";

export function teamRows(parts: EngineParts): TeamApi {
  return {
    list: (params) => listTeams(parts, params),
    show: async ({ session }) => viewOf(parts, await found(parts, session)),
    diff: async ({ session }) => diffOf(parts, await found(parts, session)),
    message: (params) => post(parts, params),
    add: (params) => add(parts, params),
    clean: (params) => cleanTeams(parts, params),
  };
}

async function listTeams(parts: EngineParts, { project, limit }: { project: string | null; limit: number }): Promise<TeamRow[]> {
  const all = (await foundIn(parts, project, limit)).filter(({ row }) => row.session.archivedAt === null);
  return Promise.all(all.map((each) => rowOf(parts, each)));
}

async function rowOf(parts: EngineParts, { row, team }: Found): Promise<TeamRow> {
  if (!isAtWork(row.state)) letRest(team);
  const { session, turn } = row;
  const { objective, strategy } = team.wish;
  return {
    session,
    state: stateOf(team, row),
    objective,
    strategy,
    phases: team.phases.length,
    members: countMembers(team),
    messages: team.messages.length,
    spent: await spentBy(await parts.store(), session.id, await (await parts.store()).subSessions(session.id)),
    startedAt: turn.startedAt,
    endedAt: turn.endedAt,
    merge: mergeOf(team),
    isKept: parts.teams.isKept(session.project, session.id),
  };
}

/** The team's own turns ask no model, but others may have taken turns in its session. */
async function spentBy(store: Store, session: string, below: readonly SubSession[]): Promise<Spent> {
  const own = (await store.turnsOf(session)).map(({ usage, costUsd }) => ({ usage, costUsd }));
  return [...own, ...below.map(({ spent }) => spent)].reduce(addSpent, nothingSpent);
}

async function viewOf(parts: EngineParts, { row, team }: Found): Promise<TeamView> {
  if (!isAtWork(row.state)) letRest(team);
  const store = await parts.store();
  const { session, turn, state, pid } = row;
  const below = await store.subSessions(session.id);
  const asks = await store.asks(null);
  const members = membersOf(team).map((member) => {
    const all = withBelow(member.session, below);
    const sessions = new Set(all.map((each) => each.session));
    return {
      id: member.id,
      spent: all.map(({ spent }) => spent).reduce(addSpent, nothingSpent),
      steps: all.reduce((sum, { steps }) => sum + steps, 0),
      startedAt: all[0]?.startedAt ?? null,
      endedAt: all[0]?.endedAt ?? null,
      asks: asks.filter((ask) => sessions.has(ask.session)).map(({ id, question }) => ({ id, question })),
    };
  });
  const { startedAt, endedAt, status, error } = turn;
  return {
    session,
    state: stateOf(team, row),
    team,
    run: { state, pid, startedAt, endedAt, status, error },
    spent: await spentBy(store, session.id, below),
    members,
    merge: mergeOf(team),
    isKept: parts.teams.isKept(session.project, session.id),
  };
}

function withBelow(session: string, all: readonly SubSession[]): SubSession[] {
  const own = all.filter((each) => each.session === session);
  return [...own, ...all.filter(({ parent }) => parent === session).flatMap((child) => withBelow(child.session, all))];
}

async function diffOf(parts: EngineParts, { row: { session }, team }: Found): Promise<TeamDiff> {
  const work = workOf(team);
  if (mergeOf(team) === "nothing" || work === null || team.base === null)
    throw new Fault("usage", "the team has made nothing that could be brought in", {
      hint: `skein team status ${shortId(session.id)} shows what it did`,
    });
  requireKept(parts, { id: session.id, project: session.project });
  return { session: session.id, ...(await parts.teams.diff(session.project, team, { base: team.base, work })) };
}

function requireKept(parts: EngineParts, { id, project }: { id: string; project: string }): void {
  if (parts.teams.isKept(project, id)) return;
  throw new Fault("usage", `the directory of team ${shortId(id)} was cleaned away`, {
    hint: "its conversations are still there: skein show",
  });
}

async function post(parts: EngineParts, { session: wanted, ...message }: TeamMessage): Promise<TeamPosted> {
  const { row, team } = await found(parts, wanted);
  const { id, project } = row.session;
  if (team.end?.event === "session_completed") throw new Fault("usage", "the team has finished: nobody of it reads any more");
  requireKept(parts, { id, project });
  const { replyTo: reply_to, requiresResponse: requires_response, ...rest } = message;
  const written = { ...rest, reply_to, requires_response };
  const read = readMail(written);
  if (read.type === "refused") throw new Fault("usage", `the message can't be sent: ${read.reason}`);
  if (!isAtWork(row.state)) letWait(team);
  const members = membersOf(team).map(({ id: name, instance, plan: { key, role, suffix } }) => ({ id: name, key, role, suffix, instance }));
  const states = new Map(membersOf(team).map((member) => [member.id, member.state]));
  const { delivered, undelivered } = route(message, "person", {
    members,
    hasEnded: (name) => ["completed", "failed"].includes(states.get(name) ?? ""),
  });
  if (delivered.length === 0)
    throw new Fault("usage", `the message would reach nobody: ${undelivered.map(({ to, reason }) => `${to}: ${reason}`).join("; ")}`, {
      hint: `the members are ${members.map(({ key }) => key).join(", ")}`,
    });
  const posted = parts.teams.post(project, id, written);
  return { id: posted, reaches: delivered, misses: undelivered, when: isAtWork(row.state) ? "now" : "resumed" };
}

async function add(parts: EngineParts, { session: wanted, member }: TeamAdd): Promise<TeamAdded> {
  const { row, team } = await found(parts, wanted);
  const { id, project } = row.session;
  requireKept(parts, { id, project });
  const { roles } = await parts.roles(project);
  const problems = problemsOf([{ name: "asked for", goal: "", members: [member] }], {
    roles: roles.map(({ name }) => name),
    limits: team.wish.limits,
    members: membersOf(team).map(({ plan: { key, role } }) => ({ key, role })),
  });
  if (problems.length > 0) throw new Fault("usage", `the member can't be added: ${problems.join("; ")}`);
  parts.teams.ask(project, id, member);
  return { key: member.key, when: isAtWork(row.state) ? "next" : "resumed" };
}
