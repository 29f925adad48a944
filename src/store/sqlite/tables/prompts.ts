// Reads the text that started a turn. It is the first node of the turn, below the tip that the session had before.
import { taskOf, type NewNode } from "../../../protocol/tree/node.ts";
import type { Db } from "../db.ts";
import { nodesPerTree } from "../migrations.ts";
import { sql } from "../sql.ts";

/** The node of turn `t` in the tree of session `s`. Roots of all trees have the parent null, so the tree limits the search. */
const promptBody = sql`(
  select c.body from nodes c
  where c.parent is t.parent and c.turn = t.n and c.n > s.tree * ${nodesPerTree} and c.n < (s.tree + 1) * ${nodesPerTree}
  order by c.n limit 1)`;

/** Returns the prompts by the id of their turn. A turn without a prompt has no entry. */
export function prompts(db: Db, turns: string[]): Map<string, string> {
  return textsOf(db.values<PromptRow>`
    select t.id, ${promptBody} from turns t join sessions s on s.n = t.session
    where t.id in (select value from json_each(${JSON.stringify(turns)}))`);
}

/** The prompt of the turn that a session's tip belongs to, by session. An empty session has no entry. */
export function latestPrompts(db: Db, sessions: string[]): Map<string, string> {
  return textsOf(db.values<PromptRow>`
    select s.id, ${promptBody} from sessions s join nodes tip on tip.n = s.tip join turns t on t.n = tip.turn
    where s.id in (select value from json_each(${JSON.stringify(sessions)}))`);
}

type PromptRow = [id: string, body: string | null];

function textsOf(rows: PromptRow[]): Map<string, string> {
  return new Map(
    rows.flatMap(([id, body]): [string, string][] => {
      const text = body === null ? null : taskOf(JSON.parse(body) as NewNode);
      return text === null ? [] : [[id, text]];
    }),
  );
}
