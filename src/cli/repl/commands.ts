// The slash commands of `chat`, which help, completion and the REPL read. Each command prints its own result. Names and
// summaries come from the table that the screen also uses.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { Fault } from "../../protocol/api/error.ts";
import { slashNameOf, slashTable, type SlashEntry, type SlashName } from "../../protocol/api/slash-commands.ts";
import { stripControls, styleOf } from "../terminal/style.ts";
import { tableText } from "../terminal/table.ts";
import type { Repl, SendMessage } from "./repl.ts";
import { clear, compact, continueTurn, init, loop, queue, rename, resume, review, startNew } from "./session-commands.ts";
import { agents, asks, budget, check, copy, cost, diff, find, login, mcp, net, policy } from "./setting-commands.ts";
import { back, branches, context, exportBranch, fork, graft, leaves, switchTo, takeStep, tree } from "./tree-commands.ts";

export type SlashCommand = SlashEntry & {
  name: string;
  /** The kind of argument that Tab completes. */
  offers?: "positions" | "models" | "agents";
  /** `send` starts a turn; its exit code is returned. */
  run: (repl: Repl, argument: string, send: SendMessage) => Promise<"leave" | number | void>;
};

/** A command of `chat`, with the texts of the table that the screen also uses. */
function entry(name: SlashName, run: SlashCommand["run"], offers?: SlashCommand["offers"]): SlashCommand {
  return { name, ...slashTable[name], run, ...(offers === undefined ? {} : { offers }) };
}

export const slashCommands: readonly SlashCommand[] = [
  entry("new", startNew),
  entry("clear", clear),
  entry("resume", resume, "positions"),
  entry("rename", rename),
  entry("tree", tree),
  entry("fork", fork),
  entry("back", back),
  entry("branches", branches),
  entry("switch", switchTo, "positions"),
  entry("undo", (repl) => takeStep(repl, "undo")),
  entry("redo", (repl) => takeStep(repl, "redo")),
  entry("context", context),
  entry("leaves", leaves),
  entry("export", exportBranch),
  entry("model", model, "models"),
  entry("agent", agent, "agents"),
  entry("graft", graft, "positions"),
  entry("diff", diff),
  entry("compact", compact),
  entry("review", review),
  entry("init", init),
  entry("continue", continueTurn),
  entry("queue", queue),
  entry("loop", loop),
  entry("check", check),
  entry("cost", cost),
  entry("budget", budget),
  entry("policy", policy),
  entry("net", net),
  entry("copy", copy),
  entry("find", find),
  entry("agents", agents),
  entry("asks", asks),
  entry("login", login),
  entry("mcp", mcp),
  entry("help", help),
  entry("quit", async () => "leave"),
];

/** How to do in `chat` what the other commands of the table do on the screen. */
const elsewhere: Partial<Record<SlashName, string>> = {
  race: 'here: skein race "<task>" -a <agent>,<agent>',
  plan: "here: /policy plan, and /policy workspace to go back",
  exec: "here: skein run --plan .skein/plan.md",
  "edit-plan": "open .skein/plan.md in your editor",
  steps: "read .skein/plan.md",
  edit: "here a line that ends with \\ continues on the next one",
  history: "here: Up, or Ctrl-R",
  palette: "/help lists the commands",
  watch: "here: skein attach <session>",
  cancel: "here: Ctrl-C",
  hub: "skein tui --hub auto",
  suspend: "here: Ctrl-D leaves, and skein chat <session> returns",
};

export async function runSlash(repl: Repl, entry: string, send: SendMessage): Promise<"leave" | number> {
  const [word = "", ...args] = entry.slice(1).split(/\s+/);
  const name = word === "" ? "help" : (slashNameOf(word) ?? word);
  const command = slashCommands.find((candidate) => candidate.name === name);
  if (command === undefined && Object.hasOwn(slashTable, name))
    throw new Fault("usage", `/${name} works on the screen (skein tui)`, { hint: elsewhere[name as SlashName] });
  if (command === undefined) {
    const names = slashCommands.map((candidate) => candidate.name);
    const nearest = nearestWord(name, names);
    const hint = nearest === null ? "/help lists the commands" : `did you mean /${nearest}?`;
    throw new Fault("usage", `no command /${name}`, { hint: `${hint} (type a space before it to send it as a message)` });
  }
  if (command.usage === "" && args.length > 0) throw new Fault("usage", `/${name} takes no argument`);
  return (await command.run(repl, args.join(" "), send)) ?? 0;
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
