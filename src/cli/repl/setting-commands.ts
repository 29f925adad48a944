// The slash commands that change the next turns, and those that print what the command line prints.
import { parseHostPattern } from "../../kit/flow/host-pattern.ts";
import { Fault } from "../../protocol/api/error.ts";
import { policyNames, type Policy, type PolicyName } from "../../protocol/api/policy.ts";
import { textOf } from "../../protocol/tree/node.ts";
import { addSpent, withSubSessions, zeroSpent, type Spent } from "../../protocol/tree/usage.ts";
import { costText, dollarsText, totalInput } from "../../protocol/tree/usage-text.ts";
import { pluralize, shortCount } from "../../kit/text/cut-text.ts";
import type { Command } from "../parse/command.ts";
import { statText } from "../print/changes.ts";
import { printableText, stripControls, styleOf } from "../terminal/style.ts";
import { tableText } from "../terminal/table.ts";
import type { Repl } from "./repl.ts";
import { noMessages } from "./switch-position.ts";

const policyTexts: Record<PolicyName, string> = {
  workspace: "tools write only in the project",
  plan: "tools read, and write only .skein/plan.md",
  readonly: "tools only read",
  full: "tools may do everything",
};

/** A policy with more rights than the one of the start is refused: rights are chosen before a conversation. */
export async function policy(repl: Repl, name: string): Promise<void> {
  const { turn, ctx } = repl;
  if (name !== "") {
    const wanted = policyNames.find((candidate) => candidate === name);
    if (wanted === undefined || (wanted === "full" && turn.policy.name !== "full"))
      throw new Fault("usage", `/policy takes workspace, plan or readonly, not "${name}"`, {
        hint: name === "full" ? "start with it: skein chat --policy full" : "/help lists the commands",
      });
    await setPolicy(repl, repl.policyNamed(wanted));
  }
  ctx.out.write(`${name === "" ? "" : "From now on: "}policy ${turn.policy.name}, ${policyTexts[turn.policy.name]}.\n`);
}

export async function net(repl: Repl, value: string): Promise<void> {
  const { turn, ctx } = repl;
  const hosts = value === "" || value === "on" ? undefined : value === "off" ? [] : value.split(/[\s,]+/).filter((host) => host !== "");
  if (hosts?.some((host) => parseHostPattern(host) === null)) throw new Fault("usage", `/net takes on, off or hosts, not "${value}"`);
  const wanted = value === "" ? (turn.policy.net === "on" ? "off" : "on") : value === "on" ? "on" : "off";
  if (turn.policy.name === "full" && wanted === "off")
    throw new Fault("usage", "policy full has no sandbox, so its network can't be turned off");
  await setPolicy(repl, { ...turn.policy, net: wanted, ...(hosts === undefined ? {} : { netHosts: hosts }) });
  ctx.out.write(`Network ${hosts?.length ? `of ${stripControls(hosts.join(", "))}` : wanted} for the tools of the next turns.\n`);
}

/** Fails before the change if the policy can't be enforced here. */
async function setPolicy({ api, turn, session, open, directory }: Repl, next: Policy): Promise<void> {
  const agent = turn.agent ?? session?.agent ?? open.agent;
  await api.turn.check({ ...turn, policy: next, agent, isNew: false, directory });
  turn.policy = next;
}

export async function budget(repl: Repl, amount: string): Promise<void> {
  if (amount === "") return cost(repl);
  const usd = amount === "off" ? null : Number(amount.replace(/^\$/, ""));
  if (usd !== null && !(Number.isFinite(usd) && usd > 0))
    throw new Fault("usage", `/budget takes dollars, for example 0.50, or off; not "${amount}"`);
  repl.turn.limits = { ...repl.turn.limits, maxBudgetUsd: usd };
  repl.ctx.out.write(usd === null ? "No cost limit from now on.\n" : `Each turn may cost at most ${dollarsText(usd, { digits: 2 })}.\n`);
}

/** Without a command, prints the check of the next turns. */
export async function check({ ctx, turn }: Repl, command: string): Promise<void> {
  if (command !== "") turn.check = command === "off" ? null : command;
  const state = turn.check === null ? "No check runs after a turn." : `After each turn this must succeed: ${stripControls(turn.check)}`;
  ctx.out.write(`${state}\n`);
}

/** Tokens and cost of each turn of this session, with its sub-sessions. */
export async function cost({ api, session, turn, ctx }: Repl): Promise<void> {
  if (session === null) throw noMessages();
  const { turns } = await api.session.show({ session: session.id });
  const modelTurns = turns.filter(({ agent }) => agent !== "shell");
  const total = modelTurns.reduce<Spent>((sum, item) => addSpent(sum, withSubSessions(item)), zeroSpent);
  const style = styleOf(ctx.out);
  const cells = ({ usage, ...money }: Spent) => [shortCount(totalInput(usage)), shortCount(usage.output), costText(money)];
  const rows = [
    ...modelTurns.map((item, index) => [String(index + 1), stripControls(item.model ?? item.agent), ...cells(withSubSessions(item))]),
    ["", style.bold("total"), ...cells(total).map(style.bold)],
  ];
  const figures = ["INPUT", "OUTPUT", "COST"].map((title) => ({ title, align: "right" as const }));
  ctx.out.write(tableText(rows, { columns: [{ title: "TURN", align: "right" }, { title: "MODEL" }, ...figures], paintTitle: style.dim }));
  const limit = turn.limits.maxBudgetUsd;
  ctx.out.write(
    `${limit === null ? "no cost limit; /budget 0.50 sets one per turn" : `at most ${dollarsText(limit, { digits: 2 })} per turn`}\n`,
  );
}

/** The files that this session changed, with their patch. */
export async function diff({ api, session, ctx }: Repl): Promise<void> {
  if (session === null) throw noMessages();
  const { files, otherFiles, patch } = await api.branch.files({ session: session.id });
  const style = styleOf(ctx.out);
  if (files === null) return ctx.out.write("The files of this branch were not recorded.\n");
  const paint = (line: string) => (/^\+(?!\+\+ )/.test(line) ? style.green(line) : /^-(?!-- )/.test(line) ? style.red(line) : line);
  const lines = patch === "" ? "" : `${printableText(patch.trimEnd()).split("\n").map(paint).join("\n")}\n`;
  ctx.out.write(`${statText([...files, ...otherFiles], style, otherFiles)}${lines}`);
}

/** Copies the last answer to the clipboard, by an escape sequence of the terminal. */
export async function copy({ api, session, ctx }: Repl): Promise<void> {
  if (!ctx.out.isTty) throw new Fault("usage", "/copy needs a terminal", { hint: "/export writes the branch to a file" });
  const path = session?.tip == null ? [] : await api.node.path({ node: session.tip });
  const answer = path.findLast((node) => node.author === "agent" && textOf(node).trim() !== "");
  if (answer === undefined) throw new Fault("usage", "there is no answer to copy yet");
  const text = textOf(answer);
  ctx.out.write(`\x1b]52;c;${Buffer.from(text).toString("base64")}\x07`);
  ctx.out.write(`Copied the last answer, ${pluralize(text.trimEnd().split("\n").length, "line")}.\n`);
}

/** Runs a command of the command line with the Api of this conversation. */
async function runCommand({ api, ctx }: Repl, command: Command, positionals: string[] = []): Promise<void> {
  await command.run({ positionals, flags: {} }, { ...ctx, api: async () => api });
}

export async function mcp(repl: Repl): Promise<void> {
  await runCommand(repl, (await import("../commands/serve/mcp.ts")).mcp, ["list"]);
  repl.ctx.out.write("`skein mcp install <client>` lets Claude Code, Codex, Gemini, opencode, Cursor or Zed use skein; docs/MCP.md\n");
}

export const login = async (repl: Repl) => runCommand(repl, (await import("../commands/setup/auth.ts")).auth, ["login"]);

export const agents = async (repl: Repl) => runCommand(repl, (await import("../commands/control/ps.ts")).ps);

export const asks = async (repl: Repl) => runCommand(repl, (await import("../commands/control/asks.ts")).asks);

export async function find(repl: Repl, words: string): Promise<void> {
  if (words === "") throw new Fault("usage", "/find takes words");
  await runCommand(repl, (await import("../commands/tree/search.ts")).search, words.split(/\s+/));
}
