// The row with the facts that are always visible: agent and model, directory and branch, context used, cost, policy and
// network. On a narrow screen the least important facts go first. Also the spinner beside the rule while something runs.
import { formatElapsed } from "../../kit/text/duration.ts";
import { shortCount } from "../../kit/text/cut-text.ts";
import { costText } from "../../protocol/tree/usage-text.ts";
import { accent, bad, faint, waiting } from "../layout/styles.ts";
import { cellsOfRow, fit, oneRow, plainLine, styled, type Row } from "../layout/wrap.ts";
import type { State } from "../model/state.ts";
import { activityName, netText } from "./status.ts";

/** The forms of a fact, from the longest to the shortest. On a narrow screen the least important form of all goes first. */
type Fact = readonly { row: Row; importance: number }[];

const separator: Row = [styled(" · ", faint)];

let latest: { inputs: readonly unknown[]; row: Row } = { inputs: [], row: [] };

/** The same row is returned as long as its facts stay, for example while text streams. */
export function infoRow(state: State): Row {
  const { size, pathPrefixes, about, session, total, contextTokens, policy, sandbox } = state;
  const inputs = [size.columns, pathPrefixes, about, session?.agent, session?.model, total, contextTokens, policy, sandbox, netText(state)];
  if (inputs.some((input, index) => input !== latest.inputs[index])) latest = { inputs, row: layOutFacts(state) };
  return latest.row;
}

function layOutFacts(state: State): Row {
  const { columns } = state.size;
  let facts = factsOf(state);
  for (;;) {
    const row = facts.flatMap(([form], index) => [...(index === 0 ? [] : separator), ...(form?.row ?? [])]);
    if (cellsOfRow(row) < columns || facts.length === 1) return oneRow([styled(" "), ...row], columns);
    const least = facts.reduce((a, b) => (importanceOf(b) < importanceOf(a) ? b : a));
    facts = facts.flatMap((fact) => (fact !== least ? [fact] : fact.length > 1 ? [fact.slice(1)] : []));
  }
}

function importanceOf([form]: Fact): number {
  return form?.importance ?? 0;
}

function factsOf(state: State): Fact[] {
  const { total, sandbox, policy } = state;
  const sandboxText = sandbox === "on" ? "" : `, sandbox ${sandbox}`;
  const policyStyle = policy === "full" || sandbox === "off" ? bad : policy === "plan" ? accent : faint;
  const net = netText(state);
  const who = whoText(state);
  return [
    [
      { row: [styled(who)], importance: 2 },
      { row: [styled(who.replace(/^native (?=\S)/, ""))], importance: 10 },
    ],
    ...placeFacts(state),
    ...contextFacts(state),
    [{ row: [styled(costText(total, { digits: 2, isTight: true }), faint)], importance: 7 }],
    // The policy and the network decide what the next message may do, so they stay longer than the figures.
    [{ row: [styled(`${policy}${sandboxText}`, policyStyle)], importance: 9 }],
    [{ row: [styled(`net ${net}`, net === "off" ? faint : waiting)], importance: 8 }],
  ];
}

/** `native claude-sonnet-4-5`: the vendor is left out. The agent `auto` has not chosen a model. */
export function whoText({ about, session }: State): string {
  const agent = plainLine(about.agent ?? session?.agent ?? "native", 30);
  const model = about.model ?? session?.model ?? null;
  if (model === null) return agent === "auto" ? "no model yet" : agent;
  return `${agent} ${plainLine(modelId(model), 40)}`;
}

function modelId(model: string): string {
  return model.slice(model.indexOf("/") + 1);
}

function placeFacts(state: State): Fact[] {
  const { about } = state;
  if (about.directory === "") return [];
  const name = about.directory.slice(about.directory.lastIndexOf("/") + 1) || about.directory;
  const branch = about.branch === null ? "" : ` (${fit(about.branch, 24)})`;
  const shortBranch = about.branch === null ? "" : ` (${fit(about.branch, 12)})`;
  return [
    [
      { row: [styled(`${fit(directoryText(state), 40)}${branch}`, faint)], importance: 1 },
      { row: [styled(`${fit(name, 20)}${shortBranch}`, faint)], importance: 4 },
    ],
  ];
}

/** The directory, with `~` for the home. */
export function directoryText({ about, pathPrefixes: { home } }: State): string {
  const { directory } = about;
  const isBelowHome = home !== "" && home !== "/" && (directory === home || directory.startsWith(`${home}/`));
  return plainLine(isBelowHome ? `~${directory.slice(home.length)}` : directory, 200);
}

const highShare = 0.8;

function contextFacts({ contextTokens, about }: State): Fact[] {
  const { contextWindow } = about;
  const share = contextWindow === null ? null : contextTokens / contextWindow;
  // A larger share means that the tokens were of several requests.
  if (share !== null && share > 1) return [];
  if (share === null && contextTokens === 0) return [];
  const text = share === null ? `ctx ${shortCount(contextTokens)}` : `ctx ${Math.round(share * 100)}%`;
  return [[{ row: [styled(text, share !== null && share >= highShare ? bad : faint)], importance: 6 }]];
}

const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const spinnerMs = 100;

/** `⠋ bash 12 s · esc to stop`. Empty while nothing runs. */
export function runningText(state: State): string {
  const { clock, activity, asks, bindings } = state;
  if (clock === null || activity === null || asks.length > 0) return "";
  const mark = activity === "paused" ? "‖" : (spinner[Math.floor(clock.now / spinnerMs) % spinner.length] ?? "");
  const stop = activity === "stopping" ? "" : bindings.preset === "vi" ? " · ctrl+c to stop" : " · esc to stop";
  return `${mark} ${activityName(state)} ${formatElapsed(clock.now - clock.turnSince)}${stop}`;
}
