// Completes slash commands on Tab, and the arguments of some: session names, node ids, models and agents.
import { shortId } from "../../protocol/tree/node.ts";
import { slashCommands } from "./commands.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import type { Completion } from "../line-editor/terminal-input.ts";
import type { Repl } from "./repl.ts";

const maxChoices = 100;

const noCompletion: Completion = { insertion: "", choices: [] };

export async function completeEntry(repl: Repl, { text, cursor }: EditLine): Promise<Completion> {
  const head = text.slice(0, cursor);
  const names = slashCommands.map((command) => `/${command.name}`);
  if (/^\/[a-z-]*$/.test(head)) return completeWord(head, names);
  const [, name, argument = ""] = /^\/([a-z]+)\s+(\S*)$/.exec(head) ?? [];
  const command = slashCommands.find((candidate) => candidate.name === name);
  if (command?.offers === undefined) return noCompletion;
  return completeWord(argument, await listArguments(repl, command.offers).catch(() => []));
}

/** Inserts the only match, or the common prefix of several. If they have no longer prefix in common, lists the matches. */
export function completeWord(typed: string, candidates: readonly string[]): Completion {
  const matches = [...new Set(candidates)].filter((word) => word.startsWith(typed)).sort();
  const [first] = matches;
  if (first === undefined) return noCompletion;
  if (matches.length === 1) return { insertion: `${first.slice(typed.length)} `, choices: [] };
  const last = matches.at(-1) ?? first;
  let common = typed.length;
  while (common < first.length && first[common] === last[common]) common += 1;
  if (common > typed.length) return { insertion: first.slice(typed.length, common), choices: [] };
  const more = matches.length > maxChoices ? [`… (${matches.length - maxChoices} more)`] : [];
  return { insertion: "", choices: [...matches.slice(0, maxChoices), ...more] };
}

async function listArguments(repl: Repl, kind: "positions" | "models" | "agents"): Promise<string[]> {
  const { api, session } = repl;
  if (kind === "agents") return (await api.agents.list()).filter((agent) => agent.installed).map((agent) => agent.name);
  if (kind === "models") return (await api.models.list()).filter((model) => model.ready).map((model) => model.name);
  const view = session === null ? null : await api.session.tree({ session: session.id });
  const sessions = await api.session.list({ project: session?.project ?? repl.ctx.project });
  const names = [...(view?.sessions ?? []), ...sessions].flatMap(({ name }) => (name === null ? [] : [name]));
  return [...names, ...(view?.nodes ?? []).map((node) => shortId(node.id))];
}
