// Where a team is on disk: what its members have in common, their mail and their work, and what each is told of it in its
// environment. Everything in here is outside of the walls; a member may write only its own places.
import { appendFileSync, chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { openJsonLog } from "../../kit/files/json-log.ts";
import { processStartTime } from "../../kit/process/processes.ts";
import { replaceFile } from "../../kit/files/replace-file.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId, type Node } from "../../protocol/tree/node.ts";
import type { TeamRepository } from "../../protocol/api/ports.ts";
import type { Role } from "../../protocol/api/role.ts";
import { fromJsonCase, toJsonCase } from "../../protocol/json/json-case.ts";
import {
  applyTeamEvent,
  newTeamRecord,
  teamEventOf,
  membersOf,
  type Member,
  type TeamEvent,
  type TeamRecord,
  type TeamRequest,
} from "../../protocol/team/team.ts";

export type TeamPaths = { root: string; shared: string; mail: string; work: string; bin: string };

export function teamPaths(project: string, team: string): TeamPaths {
  const root = join(project, ".skein", "teams", shortId(team));
  return { root, shared: join(root, "shared"), mail: join(root, "mail"), work: join(root, "work"), bin: join(root, "bin") };
}

const mode = { recursive: true, mode: 0o700 } as const;

/** Also what was there already is as it has to be afterwards. `self` is how this program is started. */
export function createTeamDirectory(paths: TeamPaths, self: readonly string[]): void {
  const teams = dirname(paths.root);
  for (const directory of [dirname(teams), teams, ...Object.values(paths)]) {
    mkdirSync(directory, mode);
    // A repository can bring a link with it that leads elsewhere.
    if (!lstatSync(directory).isDirectory()) throw new Fault("file-unwritable", `${directory} is no directory of the project's own`);
  }
  replaceFile(join(teams, ".gitignore"), "*\n", { file: 0o644, directory: 0o700 });
  const words = self.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const program = join(paths.bin, "skein");
  replaceFile(program, `#!/bin/sh\nexec ${words} "$@"\n`, { file: 0o755, directory: 0o700 });
  chmodSync(program, 0o755);
}

/** Of its own: the project's is only read from. */
export function teamRepository({ root }: TeamPaths, project: string): TeamRepository {
  return { project, repository: join(root, "repo.git") };
}

/** Where wishes for further members are left. */
export function addedMembersDirectory({ root }: TeamPaths): string {
  return join(root, "asked");
}

export function mailDirectory(paths: TeamPaths, member: string): string {
  return join(paths.mail, member);
}

/** Who is in the team, for its members and for whoever looks; whole at every moment. */
export function writeRoster(paths: TeamPaths, team: TeamRecord): void {
  const members = membersOf(team).map(({ id, plan, instance, agent, model, session, state, workspace, phase }) => ({
    id,
    key: plan.key,
    role: plan.role,
    suffix: plan.suffix,
    instance,
    phase: phase + 1,
    agent,
    model,
    session_id: session,
    state,
    workspace: workspace.directory,
  }));
  const { objective, strategy } = team.wish;
  const text = `${JSON.stringify({ team_id: team.id, objective, strategy, members }, null, 2)}\n`;
  const file = join(paths.shared, "team.json");
  // Members can write here, and so put a directory in its way.
  if (lstatSync(file, { throwIfNoEntry: false })?.isDirectory() === true) rmSync(file, { recursive: true });
  replaceFile(file, text, { file: 0o600, directory: 0o700 });
}

export function logEvent(paths: TeamPaths, team: string, happened: TeamEvent): void {
  appendFileSync(logPath(paths), `${JSON.stringify(logLine(team, happened, Date.now()))}\n`, { mode: 0o600 });
}

/** What was recorded and could not be logged any more is logged now: a line for each note, in their order. */
export function repairLog(paths: TeamPaths, team: string, path: readonly Node[], warn: (message: string) => void): void {
  const log = openJsonLog(logPath(paths), warn);
  const notes = path.flatMap((node) => {
    const happened = teamEventOf(node);
    return happened === null ? [] : [logLine(team, happened, node.at)];
  });
  for (const line of notes.slice(log.lines.length)) log.append(line);
  log.close();
}

/** A team as its log tells it, for whoever finds a directory and no session: null before it began. Throws what is no such log. */
export function readLoggedTeam(paths: TeamPaths): TeamRecord | null {
  const lines = existsSync(logPath(paths)) ? readFileSync(logPath(paths), "utf8").split("\n").slice(0, -1) : [];
  const [first, ...rest] = lines.map((line) => JSON.parse(line) as ReturnType<typeof logLine>);
  if (first === undefined) return null;
  const created = eventIn(first);
  if (created.event !== "session_created") throw new Error("the log does not begin with a team");
  const team = newTeamRecord(first.session_id, created);
  for (const line of rest) applyTeamEvent(team, eventIn(line));
  return team;
}

function eventIn({ event, data }: ReturnType<typeof logLine>): TeamEvent {
  return { event, ...(fromJsonCase(data) as object) } as TeamEvent;
}

/** Who leads the team now, for those who do not see the lease of its session. */
export function markLeader({ root }: TeamPaths): () => void {
  const file = join(root, leaderFile);
  replaceFile(file, JSON.stringify({ pid: process.pid, started: processStartTime(process.pid) }), { file: 0o600, directory: 0o700 });
  return () => rmSync(file, { force: true });
}

export function hasLeader({ root }: TeamPaths): boolean {
  try {
    const { pid, started } = JSON.parse(readFileSync(join(root, leaderFile), "utf8")) as { pid: number; started: string };
    return processStartTime(pid) === started;
  } catch {
    return false;
  }
}

const leaderFile = "led-by.json";

export function logPath({ root }: TeamPaths): string {
  return join(root, "session.log");
}

function logLine(team: string, { event, ...data }: TeamEvent, at: number) {
  return { timestamp: new Date(at).toISOString(), event, session_id: team, data: toJsonCase(data) };
}

export type MemberEnvironmentInput = { team: string; project: string; place: TeamPaths; wish: TeamRequest; path: string };

/** `MAOS_*` and `SKEIN_*` one to one; only the team's session has a name of its own, because a member has its own session. */
export function memberEnvironment(
  member: Member,
  role: Role,
  { team, project, place, wish, path }: MemberEnvironmentInput,
): Record<string, string> {
  const isCustom = role.origin !== "built-in";
  const facts: Record<string, string> = {
    AGENT_ID: member.id,
    AGENT_ROLE: role.name,
    AGENT_INSTANCE: String(member.instance),
    WORKSPACE: member.workspace.directory,
    SHARED_CONTEXT: place.shared,
    MESSAGE_DIR: mailDirectory(place, member.id),
    PROJECT_ROOT: project,
    SESSION_OBJECTIVE: plainWords(wish.objective),
    SESSION_STRATEGY: wish.strategy,
    TIMEOUT_MINUTES: String(Math.ceil(role.timeoutMs / 60_000)),
    MAX_MEMORY_MB: String(role.maxMemoryMb),
    ...(isCustom ? { AGENT_ROLE_DESC: plainWords(role.description), AGENT_ROLE_RESPONSIBILITIES: plainWords(role.prompt) } : {}),
  };
  const both = Object.entries(facts).flatMap(([name, value]) => [
    [`MAOS_${name}`, value],
    [`SKEIN_${name}`, value],
  ]);
  return { ...Object.fromEntries(both), MAOS_SESSION_ID: team, SKEIN_TEAM_ID: team, PATH: `${place.bin}:${path}` };
}

const mostWords = 4_000;

/** One line without control characters: a variable is read by programs that we don't know. */
function plainWords(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, mostWords);
}
