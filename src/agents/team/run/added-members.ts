// Members that were requested in addition to the plan. Each request is a file. The team reads all request files between two phases.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { inDirectory, readSafely, removeSafely } from "../../../kit/files/safe-file.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import { findPlanProblems, planConstraints } from "../../../protocol/team/plan.ts";
import type { MemberPlan, PhasePlan } from "../../../protocol/team/team.ts";
import type { TeamRun } from "./team-run.ts";
import { addedMembersDirectory, type TeamPaths } from "../team-paths.ts";

export function hasAddedMembers(paths: TeamPaths): boolean {
  return requestFiles(paths).length > 0;
}

/** One phase with all requested members; null if there is none. Call `drop` to delete the files once the phase is recorded. */
export async function takeAddedMembers(
  run: Pick<TeamRun, "paths" | "record" | "roles" | "emit">,
): Promise<{ plan: PhasePlan; drop: () => void } | null> {
  const { paths, record, roles, emit } = run;
  const files = requestFiles(paths);
  const drop = () => files.forEach(removeSafely);
  const members: MemberPlan[] = [];
  for (const file of files) {
    const member = await readMember(file);
    const constraints = planConstraints(record, roles);
    const problems = "problems" in member ? member.problems : findPlanProblems([phaseOf([...members, member])], constraints);
    // A crash after recording and before `drop` leaves the file of an existing member.
    if ("key" in member && constraints.members.some(({ key }) => key === member.key)) continue;
    if (problems.length > 0) emit({ type: "warning.raised", message: `a requested member can't be added: ${problems.join("; ")}` });
    else members.push(member as MemberPlan);
  }
  if (members.length === 0) drop();
  return members.length === 0 ? null : { plan: phaseOf(members), drop };
}

function phaseOf(members: MemberPlan[]): PhasePlan {
  return { name: `added: ${members.map(({ key }) => key).join(", ")}`, goal: "", members };
}

async function readMember(file: string): Promise<MemberPlan | { problems: string[] }> {
  const { parseMember } = await import("../../../protocol/schema/parse-plan.ts");
  try {
    return parseMember(JSON.parse(String(readSafely(file, { maxBytes: 1 << 20 }))));
  } catch (error) {
    return { problems: [messageOf(error)] };
  }
}

function requestFiles(paths: TeamPaths): string[] {
  const directory = addedMembersDirectory(paths);
  try {
    const names = inDirectory(directory, (opened) => readdirSync(opened)).filter((name) => name.endsWith(".json") && !name.startsWith("."));
    return names.toSorted().map((name) => join(directory, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
