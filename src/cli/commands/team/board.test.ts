import { expect, test } from "bun:test";
import type { MemberPlan, MemberRecord } from "../../../protocol/team/team.ts";
import type { TeamView } from "../../../protocol/team/views.ts";
import { styleOf } from "../../terminal/style.ts";
import { boardLines, type BoardOptions } from "./board.ts";

const now = 100_000;
const spent = { usage: { input: 1_000, output: 200, cacheRead: 0, cacheWrite: 0 }, costUsd: 0.0123 };
const options: BoardOptions = { style: styleOf({ color: false }), columns: 60, rows: 20, unicode: true, now };

function member(key: string, phase: number, change: Partial<MemberRecord> = {}): MemberRecord {
  const plan: MemberPlan = {
    key,
    role: "engineer",
    description: null,
    agent: null,
    model: null,
    suffix: null,
    task: "t",
    mustRead: [],
    validation: [],
    dependsOn: [],
    workspace: null,
  };
  const workspace = { kind: "plain" as const, directory: "/w", branch: null };
  const emptyFields = { attempts: 0, given: [], ended: null, reports: [], artifacts: [] };
  return {
    id: `agent_${key}`,
    plan,
    phase,
    instance: 1,
    session: key,
    agent: "native",
    model: null,
    workspace,
    state: "waiting",
    ...emptyFields,
    ...change,
  };
}

function view(phases: { members: MemberRecord[]; isOver: boolean }[], change: Partial<TeamView> = {}): TeamView {
  const members = phases.flatMap((phase) => phase.members);
  return {
    session: { id: "01a1e48e-fd10-75da-8164-d0363d923a07", name: null },
    state: "running",
    team: {
      wish: { objective: "make\u001b[2J it", strategy: "pipeline" },
      phases: phases.map((phase, index) => ({
        plan: { name: `${index + 1}: part ${index + 1}`, goal: "", members: phase.members.map(({ plan }) => plan) },
        conflicts: [],
        ...phase,
      })),
      messages: [],
    },
    run: { state: "running", startedAt: now - 42_000, endedAt: null },
    spent,
    members: members.map(({ id, state }) => ({
      id,
      spent,
      steps: 1,
      startedAt: state === "waiting" ? null : now - 5_000,
      endedAt: state === "completed" ? now - 1_000 : null,
      asks: [],
    })),
    ...change,
  } as unknown as TeamView;
}

const reported = [{ id: "r", report: { type: "status" as const, message: "reads", progress: 0.25 } }];
const done = member("ann", 0, {
  state: "completed",
  reports: [{ id: "c", report: { type: "complete", result: "success", summary: "designed", outputs: [] } }],
});
const busy = member("bob", 1, { state: "running", attempts: 2, reports: reported });
const idle = member("cid", 1, { plan: { ...member("cid", 1).plan, dependsOn: ["bob"] } });
const interrupted = member("dan", 1, { attempts: 1 });

test("a board has a line for the team, each phase, and each member with its last status", () => {
  const lines = boardLines(
    view([
      { members: [done], isOver: true },
      { members: [busy, idle, interrupted], isOver: false },
    ]),
    { ...options, columns: 100 },
  );
  expect(lines).toEqual([
    "team 3d923a07 running · 42 s · 1.2k tokens $0.012 · make it",
    "1 part 1 ended",
    "  ✓ ann  native  1.2k $0.012     4 s  success: designed",
    "2 part 2 0 of 3 done",
    "  ● bob  native  1.2k $0.012     5 s try 2  25 % reads",
    "  ○ cid  native                       waits for bob",
    "  ○ dan  native                       was interrupted",
  ]);
});

test("a board shows that the planner is planning, and the questions of members", () => {
  expect(boardLines(view([], { state: "planning" }), options).at(-1)).toBe("● the planner is planning the next phase");
  const teamView = view([{ members: [busy], isOver: false }]);
  teamView.members[0]!.asks = [{ id: "a", question: "Which port?" }];
  expect(boardLines(teamView, { ...options, columns: 100 }).join("\n")).toMatch(/1 question: skein asks[^]*asks: Which port\?/);
});

test("no line of a board is wider than the screen or moves the cursor, and its marks can be ASCII", () => {
  const lines = boardLines(
    view([
      { members: [done], isOver: true },
      { members: [busy, idle], isOver: false },
    ]),
    { ...options, columns: 40, unicode: false },
  );
  for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(40);
  expect(lines.join("")).not.toContain("\u001b");
  expect(lines.map((line) => line.trim()[0])).toEqual(["t", "1", "+", "2", "*", "."]);
});

test("with few rows, a board omits ended phases first, then waiting members, and counts the other lines", () => {
  const many = Array.from({ length: 10 }, (_, index) => member(`m${index}`, 1, { state: "running" }));
  const teamView = view([
    { members: [done], isOver: true },
    { members: [...many, idle], isOver: false },
  ]);
  expect(boardLines(teamView, { ...options, rows: 14 }).join("\n")).not.toContain("ann");
  expect(boardLines(teamView, { ...options, rows: 13 }).join("\n")).not.toContain("cid");
  const few = boardLines(teamView, { ...options, rows: 5 });
  expect(few).toHaveLength(5);
  expect(few.at(-1)).toBe("  and 9 more lines: skein team status");
});

test("the costs of members are aligned whatever the number of tokens", () => {
  const teamView = view([{ members: [done, busy], isOver: false }]);
  const few = { usage: { input: 7, output: 1, cacheRead: 0, cacheWrite: 0 }, costUsd: 0.001 };
  const members = teamView.members.map((stats, index) => (index === 0 ? { ...stats, spent: few } : stats));
  const costs = boardLines({ ...teamView, members }, options).flatMap((line) => (/ann|bob/.test(line) ? [line.indexOf("$")] : []));
  expect(costs).toEqual([costs[0]!, costs[0]!]);
});
