// One turn of a team: reads the team from the path, opens its directory and mail, and runs its phases.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createSlots } from "../../../kit/flow/slots.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
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
import { createTeamDirectory, markLeader, repairLog, teamPaths, teamRepository } from "../team-paths.ts";
import { addNode, streamTurn } from "../../stream-turn.ts";
import { mergeWork } from "./merge-work.ts";
import { createMailOptions } from "./record-mail.ts";

/** Throws for a request that can't work, before anything is created. */
export function checkTeamRequest({ objective, phases, limits }: TeamRequest, roles: readonly Role[]): void {
  if (objective.trim() === "") throw new Fault("usage", "the objective is empty");
  const problems = findPlanProblems(phases ?? [], { roles, limits, members: [] });
  if (problems.length > 0)
    throw new Fault("usage", `the plan can't be used: ${problems.join("; ")}`, { hint: "skein roles lists the roles" });
}

type TeamTurn = Pick<TeamRun, "deps" | "input" | "context" | "paths" | "emit" | "add">;

export function takeTeamTurn(deps: TeamDeps, input: TurnInput, context: TurnContext): AsyncGenerator<AgentEvent> {
  return streamTurn((emitEvent) => {
    const add: TeamRun["add"] = (node) => addNode(emitEvent, node);
    const emit: TeamRun["emit"] = (event) => emitEvent({ type: "transient", event });
    return openTeam({ deps, input, context, paths: teamPaths(input.project, input.session), add, emit });
  });
}

async function openTeam(turn: TeamTurn): Promise<TurnEnd> {
  const existing = readTeam(turn.input.path);
  const record = existing === null ? await createTeam(turn) : continueTeam(existing, turn);
  const unmarkLeader = markLeader(turn.paths);
  try {
    return await runTeam({ ...turn, record });
  } finally {
    unmarkLeader();
  }
}

async function runTeam(opened: TeamTurn & Pick<TeamRun, "record">): Promise<TurnEnd> {
  const { deps, input, context, record, paths } = opened;
  const repository = teamRepository(paths, input.project);
  if (input.team?.work === "merge") return mergeWork({ ...opened, repository });
  if (record.end?.event === "session_completed" && !hasAddedMembers(paths)) return { status: "ok", answer: record.end.summary };
  const roles = await deps.roles(input.project);
  checkTeamRequest(record.wish, roles);
  const { maxMemoryMb } = record.wish.limits;
  const stop = new AbortController();
  const run: Omit<TeamRun, "mail"> = {
    ...opened,
    roles,
    repository,
    memoryWatch: startMemoryWatch(),
    memory: maxMemoryMb === null ? null : createSlots(maxMemoryMb),
    halt: null,
    signal: AbortSignal.any([context.signal, stop.signal]),
    stopAll: () => stop.abort(),
  };
  markFailedForRetry(record);
  tryWriteRoster(run);
  let mail: Mail | null = null;
  try {
    mail = await openMail(createMailOptions(run));
    // A member's first prompt already contained these messages.
    for (const { id, given } of membersOf(record)) mail.markSent(id, given);
    return await runPhases(Object.assign(run, { mail }));
  } finally {
    run.memoryWatch.close();
    await mail?.close();
  }
}

async function createTeam({ deps, input, paths, add, emit }: TeamTurn): Promise<TeamRecord> {
  if (input.team?.work !== "run") throw new Fault("usage", "this session has no team to continue", { hint: 'skein team run "objective"' });
  const { wish } = input.team;
  createTeamDirectory(paths, deps.selfCommand);
  const hasRepository = await deps.workspaces.hasRepository(input.project);
  const base = hasRepository ? await deps.workspaces.base(teamRepository(paths, input.project), "files") : null;
  await add({ author: "user", parts: [{ kind: "text", text: wish.objective }] });
  const created = { event: "session_created", directory: paths.root, base, wish } as const;
  const record = newTeamRecord(input.session, created);
  await recordTeamEvent({ add, emit, record, paths }, created, `a team starts in ${paths.root}`);
  if (base === null && wish.workspace === "worktree" && existsSync(join(input.project, ".git")))
    await warn({ add, emit }, `the git repository of ${input.project} can't be read, so each member works in an empty directory`);
  return record;
}

/** Shows a warning and stores it. */
async function warn({ add, emit }: Pick<TeamRun, "add" | "emit">, message: string): Promise<void> {
  await add({ author: "note", note: { about: "warning" }, parts: [{ kind: "text", text: message }] });
  emit({ type: "warning.raised", message });
}

/** Repairs the directory and the log after an interruption. */
function continueTeam(record: TeamRecord, { deps, input, paths, emit }: TeamTurn): TeamRecord {
  checkSameTeam(record, input);
  if (!existsSync(paths.root))
    throw new Fault("usage", `the directory of this team was removed: ${paths.root}`, { hint: "start another team: skein team run" });
  createTeamDirectory(paths, deps.selfCommand);
  repairLog(paths, record.id, input.path, (message) => emit({ type: "warning.raised", message }));
  return record;
}

/** A team has one session and one objective. A fork of its session is only a conversation about it. */
function checkSameTeam(record: TeamRecord, { session, team }: TurnInput): void {
  if (record.id !== session)
    throw new Fault("usage", "this session is a fork of a team's session", { hint: `the team itself is session ${shortId(record.id)}` });
  if (team?.work === "run" && team.wish.objective !== record.wish.objective)
    throw new Fault("usage", "this session has a team with another objective", {
      hint: "start a team with this objective in another session",
    });
}
