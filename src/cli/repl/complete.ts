// What Tab does: completes slash commands, and after some of them session names, node ids, models and agents.
import { shortId } from "../../protocol/tree/node.ts";
import { slashCommands } from "./commands.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import type { Repl } from "./repl.ts";

/** What to insert at the cursor, and what to list when that does not settle it. */
export type Completion = { insertion: string; choices: string[] };

const nothing: Completion = { insertion: "", choices: [] };

export async function completeEntry(repl: Repl, { text, cursor }: EditLine): Promise<Completion> {
  const head = text.slice(0, cursor);
  if (/^\/[a-z]*$/.test(head)) {
    return completeWord(
      head,
      slashCommands.map((command) => `/${command.name}`),
    );
  }
  const words = /^\/([a-z]+)\s+(\S*)$/.exec(head);
  if (words === null) return nothing;
  const command = slashCommands.find((candidate) => candidate.name === words[1]);
  if (command?.offers === undefined) return nothing;
  return completeWord(words[2] ?? "", await offered(repl, command.offers).catch(() => []));
}

/** One that fits is taken; of several, what they share, and when that is nothing more, the list. */
export function completeWord(typed: string, known: readonly string[]): Completion {
  const fitting = [...new Set(known)].filter((word) => word.startsWith(typed)).sort();
  const [first] = fitting;
  if (first === undefined) return nothing;
  if (fitting.length === 1) return { insertion: `${first.slice(typed.length)} `, choices: [] };
  const last = fitting.at(-1) ?? first;
  let common = typed.length;
  while (common < first.length && first[common] === last[common]) common += 1;
  return common > typed.length
    ? { insertion: first.slice(typed.length, common), choices: [] }
    : { insertion: "", choices: atMost(fitting) };
}

const mostChoices = 100;

function atMost(words: string[]): string[] {
  return words.length <= mostChoices ? words : [...words.slice(0, mostChoices), `… (${words.length - mostChoices} more)`];
}

async function offered(repl: Repl, what: "places" | "models" | "agents"): Promise<string[]> {
  const { api, session } = repl;
  if (what === "agents") return (await api.agents.list()).filter((agent) => agent.installed).map((agent) => agent.name);
  if (what === "models") return (await api.models.list()).filter((model) => model.ready).map((model) => model.name);
  const view = session === null ? null : await api.session.tree({ session: session.id });
  const sessions = await api.session.list({ project: session?.project ?? repl.door.project });
  const names = [...(view?.sessions ?? []), ...sessions].flatMap((each) => (each.name === null ? [] : [each.name]));
  return [...names, ...(view?.nodes ?? []).map((node) => shortId(node.id))];
}
