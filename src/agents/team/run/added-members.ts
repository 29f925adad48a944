// Members that someone asked for besides the plan: left as files, taken up between two phases, each once.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../../protocol/api/error.ts";
import { findPlanProblems, parseMember } from "../../../protocol/team/plan.ts";
import { membersOf, type MemberPlan, type PhasePlan, type TeamRecord } from "../../../protocol/team/team.ts";
import type { TeamRun } from "./team-run.ts";
import { addedMembersDirectory, type TeamPaths } from "../team-paths.ts";

/** Whether someone waits to be taken up. */
export function hasAddedMembers(paths: TeamPaths): boolean {
  return filesIn(paths).length > 0;
}

/** A phase of all that were asked for by now, or null. Its files are to be dropped once it is recorded. */
export function takeAddedMembers(run: Pick<TeamRun, "paths" | "record" | "roles" | "emit">): { plan: PhasePlan; drop: () => void } | null {
  const { paths: place, record, roles, emit: pass } = run;
  const files = filesIn(place);
  const drop = () => files.forEach((file) => rmSync(file, { force: true }));
  const members: MemberPlan[] = [];
  for (const file of files) {
    const member = memberIn(file);
    const fitting = { roles: roles.map(({ name }) => name), limits: record.wish.limits, members: known(record) };
    const problems = "problems" in member ? member.problems : findPlanProblems([phaseOf([...members, member])], fitting);
    // What was recorded before a crash is a member by now.
    if ("key" in member && fitting.members.some(({ key }) => key === member.key)) continue;
    if (problems.length > 0) pass({ type: "warning.raised", message: `a member that was asked for can't be: ${problems.join("; ")}` });
    else members.push(member as MemberPlan);
  }
  if (members.length > 0) return { plan: phaseOf(members), drop };
  drop();
  return null;
}

function phaseOf(members: MemberPlan[]): PhasePlan {
  return { name: `asked for: ${members.map(({ key }) => key).join(", ")}`, goal: "", members };
}

function known(record: TeamRecord): { key: string; role: string }[] {
  return membersOf(record).map(({ plan: { key, role } }) => ({ key, role }));
}

function memberIn(file: string): MemberPlan | { problems: string[] } {
  try {
    return parseMember(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    return { problems: [messageOf(error)] };
  }
}

function filesIn(paths: TeamPaths): string[] {
  const directory = addedMembersDirectory(paths);
  try {
    const names = readdirSync(directory).filter((name) => name.endsWith(".json") && !name.startsWith("."));
    return names.toSorted().map((name) => join(directory, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
