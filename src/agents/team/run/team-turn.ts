// A turn of a team: what the path holds of it is read, its place and its mail are opened, and it is led from there to its
// end.
import { existsSync } from "node:fs";
import { createFeed } from "../../../kit/flow/feed.ts";
import { createSlots } from "../../../kit/flow/slots.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { shortId, type NewNode, type Node } from "../../../protocol/tree/node.ts";
import type { AgentEvent, TurnContext, TurnInput } from "../../../protocol/api/ports.ts";
import type { Role } from "../../../protocol/api/role.ts";
import { findPlanProblems } from "../../../protocol/team/plan.ts";
import { newTeamRecord, markFailedForRetry, membersOf, readTeam, type TeamRecord, type TeamRequest } from "../../../protocol/team/team.ts";
import type { TurnEnd } from "../../../protocol/tree/turn.ts";
import { hasAddedMembers } from "./added-members.ts";
import { recordTeamEvent, tryWriteRoster, type TeamRun, type TeamDeps } from "./team-run.ts";
import { startMemoryWatch } from "./memory-watch.ts";
import { runPhases } from "./run-phases.ts";
import { openMail, type Mail } from "../mail/mail.ts";
import { createTeamDirectory, markLeader, repairLog, teamPaths, teamRepository, type TeamPaths } from "../team-paths.ts";
import { mergeWork } from "./merge-work.ts";
import { createMailOptions } from "./record-mail.ts";

/** What can be known before anything is made. */
export function checkTeamRequest({ objective, phases, limits }: TeamRequest, known: readonly Role[]): void {
  if (objective.trim() === "") throw new Fault("usage", "the objective is empty");
  const roles = known.map(({ name }) => name);
  const problems = findPlanProblems(phases ?? [], { roles, limits, members: [] });
  if (problems.length > 0)
    throw new Fault("usage", `the plan can't be used: ${problems.join("; ")}`, { hint: "skein roles lists the roles" });
}

type Add = (node: NewNode) => Promise<Node>;

export async function* takeTeamTurn(deps: TeamDeps, input: TurnInput, context: TurnContext): AsyncGenerator<AgentEvent> {
  const feed = createFeed<AgentEvent>();
  const add: Add = (node) => new Promise((resolve) => feed.push({ type: "node", node, recorded: resolve }));
  const pass: TeamRun["emit"] = (event) => feed.push({ type: "passing", event });
  void work(deps, input, context, { add, emit: pass })
    .catch((error: unknown): TurnEnd => ({ status: "broken", error: { kind: "broken", message: messageOf(error) } }))
    .then((end) => feed.push({ type: "end", end }))
    .finally(() => feed.end());
  yield* feed;
}

type TeamOutput = Pick<TeamRun, "emit"> & { add: Add };

async function work(deps: TeamDeps, input: TurnInput, context: TurnContext, out: TeamOutput): Promise<TurnEnd> {
  const place = teamPaths(input.project, input.session);
  const found = readTeam(input.path);
  const record = found === null ? await begin(deps, input, out, place) : continueTeam(found, deps, input, out, place);
  const unmark = markLeader(place);
  try {
    return await runOpenedTeam(deps, input, context, { ...out, record, paths: place });
  } finally {
    unmark();
  }
}

type Opened = TeamOutput & Pick<TeamRun, "record" | "paths">;

async function runOpenedTeam(deps: TeamDeps, input: TurnInput, context: TurnContext, opened: Opened): Promise<TurnEnd> {
  const { record, paths: place } = opened;
  const repository = teamRepository(place, input.project);
  if (input.team?.work === "merge") return mergeWork({ ...opened, parts: deps, context, repository });
  if (record.end?.event === "session_completed" && !hasAddedMembers(place)) return { status: "ok", answer: record.end.summary };
  const roles = await deps.roles(input.project);
  checkTeamRequest(record.wish, roles);
  const { maxMemoryMb } = record.wish.limits;
  const stopper = new AbortController();
  const crew: Omit<TeamRun, "mail"> = {
    parts: deps,
    roles,
    input,
    context,
    ...opened,
    repository,
    health: startMemoryWatch(),
    memory: maxMemoryMb === null ? null : createSlots(maxMemoryMb),
    halt: null,
    signal: AbortSignal.any([context.signal, stopper.signal]),
    stopAll: () => stopper.abort(),
  };
  markFailedForRetry(record);
  tryWriteRoster(crew);
  let mail: Mail | null = null;
  try {
    mail = await openMail(createMailOptions(crew));
    // What the path says was given may not have been written down by the mail yet.
    for (const { id, given } of membersOf(record)) mail.markGiven(id, given);
    return await runPhases(Object.assign(crew, { mail }));
  } finally {
    crew.health.close();
    await mail?.close();
  }
}

async function begin(deps: TeamDeps, input: TurnInput, { add, emit: pass }: TeamOutput, place: TeamPaths): Promise<TeamRecord> {
  if (input.team?.work !== "run")
    throw new Fault("usage", "there is no team in this session to go on with", { hint: 'skein team run "objective"' });
  const { wish } = input.team;
  createTeamDirectory(place, deps.selfCommand);
  const base = await deps.workspaces.base(teamRepository(place, input.project));
  await add({ author: "user", parts: [{ kind: "text", text: wish.objective }] });
  const created = { event: "session_created", directory: place.root, base, wish } as const;
  const record = newTeamRecord(input.session, created);
  await recordTeamEvent({ add, emit: pass, record, paths: place }, created, `a team begins in ${place.root}`);
  return record;
}

/** The record of one that has begun, with its place as it has to be, whatever an interruption left. */
function continueTeam(
  record: TeamRecord,
  { selfCommand: self }: TeamDeps,
  input: TurnInput,
  { emit: pass }: TeamOutput,
  paths: TeamPaths,
): TeamRecord {
  checkSame(record, input);
  if (!existsSync(paths.root))
    throw new Fault("usage", `the directory of this team was cleaned away: ${paths.root}`, { hint: "begin another: skein team run" });
  createTeamDirectory(paths, self);
  repairLog(paths, record.id, input.path, (message) => pass({ type: "warning.raised", message }));
  return record;
}

/** A team has one session and one objective: a fork of it is a conversation about it. */
function checkSame(found: TeamRecord, { session, team }: TurnInput): void {
  if (found.id !== session)
    throw new Fault("usage", "this session only remembers a team", { hint: `the team itself is session ${shortId(found.id)}` });
  if (team?.work === "run" && team.wish.objective !== found.wish.objective)
    throw new Fault("usage", "this session has a team with another objective", { hint: "begin the other one in a session of its own" });
}
