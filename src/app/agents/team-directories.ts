// Access to team directories from outside of a team: diff, messages, added members, removal. The path is made from the
// project and the team's id, never from the content of a session.
import { lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  addedMembersDirectory,
  hasLeader,
  readLoggedTeam,
  logPath,
  mailDirectory,
  teamPaths,
  teamRepository,
  type TeamPaths,
} from "../../agents/team/team-paths.ts";
import { dropFile, newDropId } from "../../kit/files/drop-file.ts";
import { makeDirectorySafely, openDirectorySafely, removeSafely } from "../../kit/files/safe-file.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { personAddress } from "../../protocol/team/mail.ts";
import { toJsonCase } from "../../protocol/json/json-case.ts";
import type { TeamDirectory, TeamDirectories } from "../../protocol/api/ports.ts";
import type { Worktrees } from "../../protocol/worktree/ports.ts";

export function createTeamDirectories(worktrees: Pick<Worktrees, "planMerge" | "patch">): TeamDirectories {
  const drop = (directory: string, value: unknown): string => {
    const id = newDropId();
    makeDirectorySafely(directory);
    const opened = openDirectorySafely(directory);
    try {
      dropFile(opened.path, id, JSON.stringify(value));
    } finally {
      opened.close();
    }
    return id;
  };
  return {
    isKept: async (project, team) => statSync(teamPaths(project, team).root, { throwIfNoEntry: false })?.isDirectory() === true,
    directory: async (project, team) => teamPaths(project, team).root,
    async diff(project, team, { base, work }) {
      const repository = teamRepository(teamPaths(project, team.id), project);
      const { now, merged, conflicts, changes, guarded } = await worktrees.planMerge(repository, base, work);
      const patch = conflicts.length > 0 ? await worktrees.patch(repository, base, work) : await worktrees.patch(repository, now, merged);
      return { base, work, conflicts, changes, guarded, patch };
    },
    post: async (project, team, message) => drop(join(mailDirectory(teamPaths(project, team), personAddress), "outbox"), message),
    requestMember: async (project, team, member) => void drop(addedMembersDirectory(teamPaths(project, team)), toJsonCase(member)),
    all: async (project) => directoriesIn(project).map((name) => directoryOf(teamPaths(project, name), name)),
    async remove(project, team) {
      const { root } = teamPaths(project, team);
      removeSafely(root);
      return root;
    },
  };
}

/** Links are skipped: a repository could contain one to anywhere. */
function directoriesIn(project: string): string[] {
  const teams = [join(project, ".skein"), join(project, ".skein", "teams")];
  const isDirectory = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!teams.every(isDirectory)) return [];
  return readdirSync(teams[1]!).filter((name) => /^[0-9a-f]{8}$/.test(name) && isDirectory(join(teams[1]!, name)));
}

function directoryOf(paths: TeamPaths, name: string): TeamDirectory {
  const touchedAt = lstatSync(paths.root).mtimeMs;
  try {
    const team = readLoggedTeam(paths);
    if (team !== null && shortId(team.id) !== name) throw new Fault("file-unreadable", "the log belongs to another team");
    const loggedAt = lstatSync(logPath(paths), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return { id: team?.id ?? name, touchedAt: Math.max(touchedAt, loggedAt), hasLeader: hasLeader(paths), team };
  } catch {
    return { id: name, touchedAt, hasLeader: hasLeader(paths), team: "unknown" };
  }
}
