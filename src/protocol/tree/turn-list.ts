// Orders running turns for display: each turn below the turn that spawned its session.
import type { TurnInfo } from "../api/control.ts";

export type IndentedTurn = { row: TurnInfo; depth: number };

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
