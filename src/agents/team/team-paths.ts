// The files of a team: its directories, its log, the list of members, and the environment of a member. A member can write only
// its workspace, `shared` and its outbox.
import { closeSync, constants, lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeIgnoredDirectory } from "../../kit/files/ignored-directory.ts";
import { makeDirectorySafely, openSafely, readSafely, removeSafely, replaceTextSafely, writeAll } from "../../kit/files/safe-file.ts";
import { openJsonLog } from "../../kit/files/json-log.ts";
import { processStartTime } from "../../kit/process/processes.ts";
import { shellQuote } from "../../kit/text/shell-quote.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { gitignoreTexts } from "../../protocol/tree/skein-directory.ts";
import { shortId, type Node } from "../../protocol/tree/node.ts";
import type { WorktreeRepository } from "../../protocol/worktree/ports.ts";
import type { Role } from "../../protocol/api/role.ts";
import { toAddressable } from "../../protocol/team/address.ts";
import { fromJsonCase, toJsonCase } from "../../protocol/json/json-case.ts";
import { membersOf, replayTeam, teamEventOf, type Member, type TeamEvent, type TeamRecord } from "../../protocol/team/team.ts";

export type TeamPaths = { root: string; shared: string; mail: string; work: string; bin: string };

export function teamPaths(project: string, team: string): TeamPaths {
  const root = join(project, ".skein", "teams", shortId(team));
  return { root, shared: join(root, "shared"), mail: join(root, "mail"), work: join(root, "work"), bin: join(root, "bin") };
}

/** Creates or repairs the team's directory, with `bin/skein` that runs `selfCommand`. */
export function createTeamDirectory(paths: TeamPaths, selfCommand: readonly string[]): void {
  const teams = dirname(paths.root);
  try {
    // A cloned repository may contain a link that leads elsewhere.
    makeIgnoredDirectory(dirname(teams), gitignoreTexts.private);
    for (const directory of [teams, ...Object.values(paths)]) makeDirectorySafely(directory);
  } catch (error) {
    throw new Fault("file-unwritable", `${paths.root} can't be created: ${messageOf(error)}`, { cause: error });
  }
  // A link of that name is replaced, not followed.
  removeSafely(join(teams, ".gitignore"));
  replaceTextSafely(join(teams, ".gitignore"), "*\n", 0o644);
  const command = selfCommand.map(shellQuote).join(" ");
  const program = join(paths.bin, "skein");
  removeSafely(program);
  replaceTextSafely(program, `#!/bin/sh\nexec ${command} "$@"\n`, 0o755);
}

/** The team's own repository; the project's repository is never written. */
export function teamRepository({ root }: TeamPaths, project: string): WorktreeRepository {
  return { project, gitDir: join(root, "repo.git") };
}

/** The directory for requests to add members. */
export function addedMembersDirectory({ root }: TeamPaths): string {
  return join(root, "asked");
}

export function mailDirectory(paths: TeamPaths, member: string): string {
  return join(paths.mail, member);
}

/** Writes the list of members for the members themselves. Replaces the file, so that a reader never sees half of it. */
export function writeRoster(paths: TeamPaths, team: TeamRecord): void {
  const members = membersOf(team).map((member) => {
    const { agent, model, session: session_id, state, workspace, phase } = member;
    return { ...toAddressable(member), phase: phase + 1, agent, model, session_id, state, workspace: workspace.directory };
  });
  const { objective, strategy } = team.wish;
  const text = `${JSON.stringify({ team_id: team.id, objective, strategy, members }, null, 2)}\n`;
  const file = join(paths.shared, "team.json");
  // Members can write here and might create a directory or a link with this name.
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() === false) removeSafely(file);
  replaceTextSafely(file, text);
}

export function logEvent(paths: TeamPaths, team: string, event: TeamEvent): void {
  const file = openSafely(logPath(paths), constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND);
  try {
    writeAll(file, `${JSON.stringify(logLine(team, event, Date.now()))}\n`);
  } finally {
    closeSync(file);
  }
}

/** Appends the lines that are missing after a crash. The log has one line for each recorded event, in order. */
export function repairLog(paths: TeamPaths, team: string, path: readonly Node[], warn: (message: string) => void): void {
  const log = openJsonLog(logPath(paths), warn);
  const lines = path.flatMap((node) => {
    const event = teamEventOf(node);
    return event === null ? [] : [logLine(team, event, node.at)];
  });
  for (const line of lines.slice(log.lines.length)) log.append(line);
  log.close();
}

/** Reads a team from its log, for a directory whose session is gone. Null if the team never started; throws for an invalid log. */
export function readLoggedTeam(paths: TeamPaths): TeamRecord | null {
  const text = readSafely(logPath(paths), { maxBytes: Infinity })?.toString("utf8") ?? "";
  const lines = text.split("\n").slice(0, -1);
  const entries = lines.map((line) => JSON.parse(line) as ReturnType<typeof logLine>);
  const [first] = entries;
  if (first === undefined) return null;
  const events = entries.map(({ event, data }) => ({ event, ...(fromJsonCase(data) as object) }) as TeamEvent);
  const team = replayTeam(first.session_id, events);
  if (team === null) throw new Error("the log does not start with session_created");
  return team;
}

/**
 * Writes a file that names the process that runs the team. Processes with another store can't see the lease.
 * Returns a function that deletes the file.
 */
export function markLeader({ root }: TeamPaths): () => void {
  const file = join(root, leaderFile);
  replaceTextSafely(file, JSON.stringify({ pid: process.pid, started: processStartTime(process.pid) }));
  return () => removeSafely(file);
}

/** True if the process that `markLeader` wrote is still running. */
export function hasLeader({ root }: TeamPaths): boolean {
  try {
    const bytes = readSafely(join(root, leaderFile), { maxBytes: 1_000 });
    const { pid, started } = JSON.parse(String(bytes)) as { pid: number; started: string };
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

/**
 * Each variable has a `SKEIN_*` name, and a `MAOS_*` name for scripts and prompts that already use it.
 * The id of the team's session is SKEIN_TEAM_ID and MAOS_SESSION_ID, because SKEIN_SESSION_ID is the member's session.
 */
export function memberEnvironment(
  member: Pick<Member, "id" | "instance" | "workspace">,
  role: Role,
  { team, project, paths, path }: { team: Pick<TeamRecord, "id" | "wish">; project: string; paths: TeamPaths; path: string },
): Record<string, string> {
  const isCustom = role.origin !== "built-in";
  const values: Record<string, string> = {
    AGENT_ID: member.id,
    AGENT_ROLE: role.name,
    AGENT_INSTANCE: String(member.instance),
    WORKSPACE: member.workspace.directory,
    SHARED_CONTEXT: paths.shared,
    MESSAGE_DIR: mailDirectory(paths, member.id),
    PROJECT_ROOT: project,
    SESSION_OBJECTIVE: plainLine(team.wish.objective),
    SESSION_STRATEGY: team.wish.strategy,
    TIMEOUT_MINUTES: String(Math.ceil(role.timeoutMs / 60_000)),
    MAX_MEMORY_MB: String(role.maxMemoryMb),
    ...(isCustom ? { AGENT_ROLE_DESC: plainLine(role.description), AGENT_ROLE_RESPONSIBILITIES: plainLine(role.prompt) } : {}),
  };
  const entries = Object.entries(values).flatMap(([name, value]) => [
    [`MAOS_${name}`, value],
    [`SKEIN_${name}`, value],
  ]);
  return { ...Object.fromEntries(entries), MAOS_SESSION_ID: team.id, SKEIN_TEAM_ID: team.id, PATH: `${paths.bin}:${path}` };
}

const maxLineLength = 4_000;

/** One line without control characters, because unknown programs read these variables. */
function plainLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, maxLineLength);
}
