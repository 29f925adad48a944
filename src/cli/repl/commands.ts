// The table of slash commands, which help, completion and the REPL read. Each command prints its own result.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { Fault } from "../../protocol/api/error.ts";
import { stripControls, styleOf } from "../terminal/style.ts";
import { tableText } from "../terminal/table.ts";
import type { Repl } from "./repl.ts";
import { back, branches, context, exportBranch, fork, graft, leaves, switchTo, tree } from "./tree-commands.ts";

export type SlashCommand = {
  name: string;
  usage: string;
  summary: string;
  /** The kind of argument that Tab completes. */
  offers?: "positions" | "models" | "agents";
  run: (repl: Repl, argument: string) => Promise<"leave" | void>;
};

export const slashCommands: readonly SlashCommand[] = [
  { name: "tree", usage: "", summary: "show the tree with every branch", run: tree },
  { name: "fork", usage: "[name]", summary: "start a new session from here", run: fork },
  { name: "back", usage: "[n]", summary: "go back n messages (default 1)", run: back },
  { name: "branches", usage: "", summary: "list the branches of the nearest fork", run: branches },
  { name: "switch", usage: "<node|number|session>", summary: "go to another position in the tree", offers: "positions", run: switchTo },
  { name: "context", usage: "", summary: "show the path to here as the agent gets it", run: context },
  { name: "leaves", usage: "", summary: "list every end of the conversation", run: leaves },
  { name: "export", usage: "[file]", summary: "export this branch (format by the file ending)", run: exportBranch },
  { name: "model", usage: "[vendor/id]", summary: "show the model, or use another one from now on", offers: "models", run: model },
  { name: "agent", usage: "[name]", summary: "show the agent, or use another one from now on", offers: "agents", run: agent },
  { name: "graft", usage: "<session|number>", summary: "add the conclusion of another branch here", offers: "positions", run: graft },
  { name: "help", usage: "", summary: "show this list", run: help },
  { name: "quit", usage: "", summary: "leave; the session is kept", run: async () => "leave" },
];

export async function runSlash(repl: Repl, entry: string): Promise<"leave" | 0> {
  const [word = "", ...args] = entry.slice(1).split(/\s+/);
  const name = word === "" || word === "?" ? "help" : word === "exit" ? "quit" : word;
  const command = slashCommands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    const names = slashCommands.map((candidate) => candidate.name);
    const nearest = nearestWord(name, names);
    const hint = nearest === null ? "/help lists the commands" : `did you mean /${nearest}?`;
    throw new Fault("usage", `no command /${name}`, { hint: `${hint} (type a space before it to send it as a message)` });
  }
  if (command.usage === "" && args.length > 0) throw new Fault("usage", `/${name} takes no argument`);
  return (await command.run(repl, args.join(" "))) ?? 0;
}

async function model(repl: Repl, name: string): Promise<void> {
  const { api, ctx, turn } = repl;
  const agentName = nextAgent(repl);
  if (name !== "") {
    await api.turn.check({ ...turn, model: name, agent: agentName, isNew: false, directory: repl.directory });
    turn.model = name;
    if (repl.session === null) repl.open.model = name;
    repl.isAnnounced = false;
  }
  const sessionModel = repl.session === null ? repl.open.model : repl.session.agent === agentName ? repl.session.model : null;
  const current = turn.model ?? sessionModel;
  const defaultModel = agentName === "native" ? "the default model" : `the default model of ${stripControls(agentName)}`;
  ctx.out.write(`${name === "" ? "" : "From now on "}${current === null ? defaultModel : stripControls(current)} answers.\n`);
}

/** The name may also be a vendor, or a model that belongs to one agent. The model of the previous agent is dropped. */
async function agent(repl: Repl, name: string): Promise<void> {
  const { api, ctx, turn, open } = repl;
  if (name !== "" && name !== nextAgent(repl)) {
    await api.turn.check({ ...turn, model: null, agent: name, isNew: false, directory: repl.directory });
    turn.agent = name;
    turn.model = null;
    if (repl.session === null) Object.assign(open, { agent: name, model: null });
    repl.isAnnounced = false;
  }
  ctx.out.write(`${name === "" ? "" : "From now on "}${stripControls(nextAgent(repl))} takes the turns.\n`);
}

function nextAgent({ turn, session, open }: Repl): string {
  return turn.agent ?? session?.agent ?? open.agent;
}

async function help({ ctx }: Repl): Promise<void> {
  const style = styleOf(ctx.out);
  const rows = slashCommands.map(({ name, usage, summary }) => [`  /${name} ${style.dim(usage)}`, summary]);
  ctx.out.write(
    `${tableText(rows, { columns: [{}, {}] })}
Everything else is a message. \\ at the end of a line, Alt-Enter, a paste or an
open \`\`\` fence adds another line to it. Ctrl-C stops the turn. Ctrl-D, or Ctrl-C
twice at an empty prompt, leaves. Moving in the tree does not change files.\n`,
  );
}
