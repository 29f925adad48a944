// The slash commands, as a table: help, completion and the REPL read it. Each says what it did in a line or a list.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { pluralize } from "../../kit/text/cut-text.ts";
import type { TreeView } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { treeText } from "../print/tree.ts";
import { stripControls, styleOf } from "../terminal/style.ts";
import { tableText } from "../terminal/table.ts";
import { contextText, sessionLabel, positionsText } from "./listings.ts";
import type { Repl } from "./repl.ts";
import { exportBranch } from "./export-branch.ts";
import { goToPosition, findPosition, moveSession } from "./switch-position.ts";
import { branchesOf, leavesOf, messageBack } from "./navigate.ts";

export type SlashCommand = {
  name: string;
  usage: string;
  summary: string;
  /** What Tab offers after it. */
  offers?: "places" | "models" | "agents";
  run: (repl: Repl, argument: string) => Promise<"leave" | void>;
};

export const slashCommands: readonly SlashCommand[] = [
  { name: "tree", usage: "", summary: "the whole tree, with every branch", run: tree },
  { name: "fork", usage: "[name]", summary: "a new session from here", run: fork },
  { name: "back", usage: "[n]", summary: "go back n messages (1)", run: back },
  { name: "branches", usage: "", summary: "the ways from the nearest fork, ours marked", run: branches },
  { name: "switch", usage: "<node|number|session>", summary: "go to another place of the tree", offers: "places", run: switchTo },
  { name: "context", usage: "", summary: "the path to here, as the agent is sent it", run: context },
  { name: "leaves", usage: "", summary: "every end of the conversation", run: leaves },
  { name: "export", usage: "[file]", summary: "this branch, as text or by the file's ending", run: exportBranch },
  { name: "model", usage: "[vendor/id]", summary: "which model answers; another one from now on", offers: "models", run: model },
  { name: "agent", usage: "[name]", summary: "who takes the turns; another one from now on", offers: "agents", run: agent },
  {
    name: "graft",
    usage: "<session|number>",
    summary: "another branch's conclusion, as one node here",
    offers: "places",
    run: graft,
  },
  { name: "help", usage: "", summary: "this list", run: help },
  { name: "quit", usage: "", summary: "leave; the session stays", run: async () => "leave" },
];

export async function runSlash(repl: Repl, entry: string): Promise<"leave" | 0> {
  const [word = "", ...rest] = entry.slice(1).split(/\s+/);
  const name = word === "" || word === "?" ? "help" : word === "exit" ? "quit" : word;
  const command = slashCommands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    const near = nearestWord(
      name,
      slashCommands.map((candidate) => candidate.name),
    );
    throw new Fault("usage", `no command /${name}`, {
      hint: `${near === null ? "/help lists them" : `did you mean /${near}?`} (a blank before it makes it a message)`,
    });
  }
  if (command.usage === "" && rest.length > 0) throw new Fault("usage", `/${name} takes nothing after it`);
  return (await command.run(repl, rest.join(" "))) ?? 0;
}

async function tree(repl: Repl): Promise<void> {
  const { view, session } = await readTree(repl);
  repl.door.out.write(`${treeText(view, repl.door.out, session.id)}\n`);
}

async function fork(repl: Repl, name: string): Promise<void> {
  const { session } = await readTree(repl);
  const forked = await repl.api.session.fork({ session: session.id, at: null, name: name === "" ? null : name });
  await repl.api.session.use({ session: forked.id, directory: repl.directory });
  repl.session = forked;
  const at = forked.tip === null ? "" : ` at ${shortId(forked.tip)}`;
  repl.door.out.write(`Created branch${at}: now in session ${sessionLabel(forked)}; ${sessionLabel(session)} keeps its place.\n`);
}

async function back(repl: Repl, argument: string): Promise<void> {
  const count = argument === "" ? 1 : Number(argument);
  if (!/^\d*$/.test(argument) || count < 1) throw new Fault("usage", `/back takes a number of messages, not "${argument}"`);
  const { view, session } = await readTree(repl);
  const { node, back: moved } = messageBack(view, session.tip, count);
  if (moved === 0) throw new Fault("usage", "there is nothing before the first message");
  const note = moved < count ? `, all there are` : "";
  await moveSession(repl, session, node?.id ?? null, `Back ${pluralize(moved, "message")}${note}`, node);
}

async function branches(repl: Repl): Promise<void> {
  const { view, session } = await readTree(repl);
  const found = branchesOf(view, session);
  const { out } = repl.door;
  if (found === null) {
    repl.listing = [];
    out.write("No branches: from the first message to here it is one line. /fork or /back and a new message make one.\n");
    return;
  }
  repl.listing = found.places;
  const where = found.at === null ? "The beginning" : found.at.id === session.tip ? "The current node" : `Node ${shortId(found.at.id)}`;
  out.write(`${where} has ${found.places.length} branches:\n${positionsText(found.places, out, "→ ")}`);
}

async function leaves(repl: Repl): Promise<void> {
  const { view, session } = await readTree(repl);
  repl.listing = leavesOf(view, session);
  repl.door.out.write(positionsText(repl.listing, repl.door.out, ""));
}

async function switchTo(repl: Repl, argument: string): Promise<void> {
  if (argument === "")
    throw new Fault("usage", "/switch takes a node, a session, or a number of the last listing", {
      hint: "/leaves and /branches list places",
    });
  const place = await findPosition(repl, argument);
  await goToPosition(repl, place);
}

async function context(repl: Repl): Promise<void> {
  const { session } = await readTree(repl);
  const rendered = await repl.api.context.render({ session: session.id, node: null });
  repl.door.out.write(contextText(rendered, repl.door.out));
}

async function model(repl: Repl, name: string): Promise<void> {
  const { api, door, turn } = repl;
  const agent = nextAgentLabel(repl);
  if (name !== "") {
    await api.turn.check({ ...turn, model: name, agent, isNew: false, directory: repl.directory });
    turn.model = name;
    if (repl.session === null) repl.open.model = name;
    repl.announced = false;
  }
  const kept = repl.session === null ? repl.open.model : repl.session.agent === agent ? repl.session.model : null;
  const now = turn.model ?? kept;
  const unnamed = agent === "native" ? "the default model" : `the model that ${stripControls(agent)} takes by itself`;
  door.out.write(`${name === "" ? "" : "From now on "}${now === null ? unnamed : stripControls(now)} answers.\n`);
}

/** An agent, a vendor, or a model that an agent brings; the model of the one before is not the new one's. */
async function agent(repl: Repl, name: string): Promise<void> {
  const { api, door, turn, open } = repl;
  if (name !== "" && name !== nextAgentLabel(repl)) {
    await api.turn.check({ ...turn, model: null, agent: name, isNew: false, directory: repl.directory });
    turn.agent = name;
    turn.model = null;
    if (repl.session === null) Object.assign(open, { agent: name, model: null });
    repl.announced = false;
  }
  door.out.write(`${name === "" ? "" : "From now on "}${stripControls(nextAgentLabel(repl))} takes the turns.\n`);
}

function nextAgentLabel({ turn, session, open }: Repl): string {
  return turn.agent ?? session?.agent ?? open.agent;
}

async function graft(repl: Repl, argument: string): Promise<void> {
  const { session } = await readTree(repl);
  if (argument === "")
    throw new Fault("usage", "/graft takes a session, or a number of the last listing", { hint: "/leaves lists the branches" });
  const { session: from, node } = await findPosition(repl, argument);
  if (from === null)
    throw new Fault("usage", `no session rests at ${node === null ? "the beginning" : shortId(node)}`, {
      hint: "/switch there, /fork it, and graft that session",
    });
  const grafted = await repl.api.graft.make({ from: from.id, into: session.id });
  await readTree(repl);
  repl.door.out.write(`Grafted ${sessionLabel(from)} here as ${shortId(grafted.id)}; the next turn is sent it, /back removes it.\n`);
}

async function help(repl: Repl): Promise<void> {
  const style = styleOf(repl.door.out);
  const rows = slashCommands.map(({ name, usage, summary }) => [`  /${name} ${style.dim(usage)}`, summary]);
  repl.door.out.write(
    `${tableText(rows, { columns: [{}, {}] })}
Everything else is a message. \\ at the end of a line, Alt-Enter, a paste or an
open \`\`\` fence makes it longer. Ctrl-C stops the turn; twice at an empty prompt
it leaves, and so does Ctrl-D. Moving in the tree does not change files.\n`,
  );
}

/** The tree as it is now; what was said elsewhere in the meantime is in it. */
export async function readTree(repl: Repl): Promise<{ view: TreeView; session: Session }> {
  if (repl.session === null) throw new Fault("usage", "nothing was said yet", { hint: "type a message first" });
  const view = await repl.api.session.tree({ session: repl.session.id });
  const session = view.sessions.find((candidate) => candidate.id === repl.session?.id) ?? repl.session;
  repl.session = session;
  return { view, session };
}
