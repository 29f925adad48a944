// Tests of the facts that are always visible, of the spinner, and of the first screen.
import { expect, test } from "bun:test";
import { apply, badRows, sampleSession, textOf, viKeys } from "../fixtures/press-keys.ts";
import { firstState, type About, type State } from "../model/state.ts";
import { infoRow, runningText } from "./info.ts";
import { statusText } from "./status.ts";

const about: About = {
  version: "0.1.0",
  directory: "/home/ada/work/fastify",
  branch: "master",
  agent: "native",
  model: "anthropic/claude-opus-5-5",
  contextWindow: 200_000,
  problem: null,
};
const pathPrefixes = { project: "/home/ada/work/fastify", home: "/home/ada" };
const fresh = firstState({ size: { columns: 120, rows: 40 }, net: "off", sandbox: "on", about, pathPrefixes });
const used: State = { ...fresh, contextTokens: 24_000, total: { ...fresh.total, costUsd: 0.03 } };
const withColumns = (columns: number, state: State = used): State => ({ ...state, size: { columns, rows: 24 } });
const info = (state: State) =>
  infoRow(state)
    .map(({ text }) => text)
    .join("")
    .trim();

test("agent and model, directory and branch, context, cost, policy and network are visible", () => {
  expect(info(used)).toBe("native claude-opus-5-5 · ~/work/fastify (master) · ctx 12% · $0.03 · workspace · net off");
  expect(textOf(used).split("\n").at(-1)?.trim()).toBe(info(used));
  expect(textOf({ ...used, bindings: viKeys })).toContain(`[SANDBOX: on]\n ${info(used)}`);
});

test("on a narrow screen the least important facts go first, the model and the policy last", () => {
  expect(info(withColumns(80))).toBe("claude-opus-5-5 · fastify (master) · ctx 12% · $0.03 · workspace · net off");
  expect(info(withColumns(60))).toBe("claude-opus-5-5 · ctx 12% · $0.03 · workspace · net off");
  expect(info(withColumns(40))).toBe("claude-opus-5-5 · workspace · net off");
  expect(info(withColumns(30))).toBe("claude-opus-5-5 · workspace");
  expect(info(withColumns(14))).toBe("claude-opus-…");
});

test("a full context, a wide policy and an open network stand out", () => {
  const styleOf = (state: State, text: string) => infoRow(state).find((run) => run.text.startsWith(text))?.style;
  expect([styleOf(used, "ctx"), styleOf(used, "workspace"), styleOf(used, "net")]).toEqual([{ dim: true }, { dim: true }, { dim: true }]);
  const open: State = { ...used, contextTokens: 190_000, policy: "full", net: "on", sandbox: "off" };
  expect([styleOf(open, "ctx 95%"), styleOf(open, "full, sandbox off"), styleOf(open, "net on")]).toEqual([
    { color: 1 },
    { color: 1 },
    { color: 5 },
  ]);
});

test("hostile names of models and branches can't leave the row", () => {
  const hostile = { ...used, about: { ...about, model: "x/\u001b[2Jy\nz", branch: "b".repeat(300), directory: `/${"d".repeat(300)}` } };
  for (const columns of [20, 40, 80, 200]) expect(badRows(withColumns(columns, hostile))).toEqual([]);
  expect(info(hostile)).not.toMatch(/\p{Cc}/u);
});

test("while something runs a spinner, the elapsed time and the key to stop it are visible", () => {
  const running: State = { ...used, session: sampleSession("s-1"), activity: "waiting" };
  const later = apply(running, { type: "clock", now: 1000 }, { type: "clock", now: 13_400 });
  expect(runningText(later)).toMatch(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] waiting 12 s · esc to stop$/);
  for (const columns of [40, 80, 120]) expect(textOf(withColumns(columns, later))).toMatch(/waiting 12 s · esc to stop/);
  expect(statusText({ ...later, bindings: viKeys })).toContain("[waiting 12 s]");
  const writing = apply({ ...later, activity: "writing" }, { type: "clock", now: 14_000 });
  expect(runningText(writing)).toContain("writing 13 s");
  expect(runningText(apply({ ...writing, activity: null }, { type: "clock", now: 15_000 }))).toBe("");
});

test("a notice that needs the whole row hides the running work until the next key", () => {
  const running = apply({ ...withColumns(80), activity: "bash" }, { type: "clock", now: 1000 });
  const noticed = (text: string) => textOf(apply(running, { type: "notice", text }));
  expect(noticed("saved")).toMatch(/── saved ─.*bash 0 s · esc to stop ───/);
  const long = "the editor ended with 3; the plan has 5 lines, and more words follow";
  expect(noticed(long)).toContain(`── ${long} ─`);
  expect(noticed(long)).not.toContain("esc to stop");
});

test("the first screen shows name, version, agent, model, directory, and three things to try", () => {
  const screen = textOf(fresh);
  expect(screen).toMatch(
    /^ {2}skein 0\.1\.0\n {2}native claude-opus-5-5 · ~\/work\/fastify \(master\)\n\n {2}Try\n(?: {4}\S.*\n){3}\n {2}Type a task/,
  );
  for (const columns of [20, 40, 80]) expect(badRows({ ...fresh, size: { columns, rows: 12 } })).toEqual([]);
});

test("the first screen shows what is missing and the next step", () => {
  const problem = { text: "no model can be asked: there is no key", hint: "set ANTHROPIC_API_KEY,\nor use -a claude" };
  const screen = textOf({ ...fresh, about: { ...about, agent: "auto", model: null, problem } });
  expect(screen).toMatch(/✗ no model can be asked: there is no key\n {4}set ANTHROPIC_API_KEY,\n {4}or use -a claude\n/);
  expect(screen).toContain("no model yet · ~/work/fastify (master)");
});
