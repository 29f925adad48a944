// Orders running turns for display, each turn below the turn that spawned its session, and names their tasks.
import type { TurnInfo } from "../api/control.ts";
import { passLabel } from "../loops/pass-label.ts";

export type IndentedTurn = { row: TurnInfo; depth: number };

/** The turns of a project's sessions and of all sessions below them. A team's members work in projects of their own. */
export function turnsOfProject(rows: readonly TurnInfo[], project: string): TurnInfo[] {
  const sessions = new Map(rows.map(({ session }) => [session.id, session]));
  const belongs = (row: TurnInfo) => {
    const seen = new Set<string>();
    for (let session = sessions.get(row.session.id); session !== undefined; session = sessions.get(session.parentSession ?? "")) {
      if (session.project === project) return true;
      if (seen.has(session.id)) return false;
      seen.add(session.id);
    }
    return false;
  };
  return rows.filter(belongs);
}

/** Puts each turn below the turn of its parent session, if that is in the list. */
export function indentUnderParents(rows: readonly TurnInfo[]): IndentedTurn[] {
  const latest = new Map<string, TurnInfo>();
  for (const row of rows) if (!latest.has(row.session.id)) latest.set(row.session.id, row);
  const parentOf = ({ session }: TurnInfo) => (session.parentSession === null ? undefined : latest.get(session.parentSession));
  const children = Map.groupBy(rows, parentOf);
  const walk = (row: TurnInfo, depth: number): IndentedTurn[] => [
    { row, depth },
    ...(children.get(row) ?? []).flatMap((child) => walk(child, depth + 1)),
  ];
  return (children.get(undefined) ?? []).flatMap((row) => walk(row, 0));
}

/**
 * The message of the turn. The session's task is that of its tree, which other branches share. A pass of a loop has a prompt
 * of its own, so the loop's task is shown. A race is marked, because a narrow table has no agent.
 */
export function turnTask({ turn, prompt, session }: TurnInfo): string {
  if (turn.loop !== undefined) return `${passLabel(turn.loop)}${turn.loop.task}`;
  const task = prompt ?? session.task ?? "";
  return turn.agent === "race" ? `race: ${task}` : task;
}
