// The table of what runs: whose it is, what it costs, and how much of it a narrow screen shows.
import { expect, setSystemTime, test } from "bun:test";
import type { TurnInfo } from "../../../protocol/api/control.ts";
import { ps } from "./ps.ts";
import { run } from "../fixtures/run-command.ts";

const now = Date.parse("2026-01-02T03:04:05Z");
const usage = { input: 1000, output: 200, cacheRead: 9000, cacheWrite: 34 };

function row(id: string, parent: string | null, change: Partial<TurnInfo> = {}, name: string | null = null): TurnInfo {
  const session = {
    id: `0-${id}`,
    name,
    parentSession: parent === null ? null : `0-${parent}`,
    project: "/home/me/src/parser",
    task: `do ${id}`,
  };
  const turn = {
    agent: "native",
    model: "anthropic/claude-sonnet-4-5",
    usage,
    costUsd: 0.0123,
    steps: 3,
    startedAt: now - 65_000,
    status: null,
  };
  return { session, turn, state: "running", pid: 7, ...change } as TurnInfo;
}
const ended = { state: "ended", turn: { ...row("x", null).turn, status: "cancelled", costUsd: null } } as Partial<TurnInfo>;

const rows = [
  row("cccccccc", "aaaaaaaa", { state: "asking" }),
  row("bbbbbbbb", null, ended),
  row("aaaaaaaa", null, {}, "long"),
  row("dddddddd", "elsewhere"),
];
const api = { turn: { list: async () => rows } };

test("sub-sessions stand below the session that spawned them, and what has ended says how", async () => {
  setSystemTime(now);
  const { out } = await run(ps, [], { api });
  setSystemTime();
  expect(out).toBe(`SESSION     NAME  STATE           AGE  TOKENS     COST  TASK
bbbbbbbb          cancelled  1 m 05 s    1.2k        ?  do bbbbbbbb
aaaaaaaa    long  running    1 m 05 s    1.2k  $0.0123  do aaaaaaaa
  cccccccc        asking     1 m 05 s    1.2k  $0.0123  do cccccccc
dddddddd          running    1 m 05 s    1.2k  $0.0123  do dddddddd
`);
});

test("without a row it says so, and --all asks for the last day", async () => {
  let asked: number | null = 0;
  const list = async ({ endedSince }: { endedSince: number | null }) => ((asked = endedSince), []);
  expect((await run(ps, [], { api: { turn: { list } } })).out).toBe("nothing runs (--all shows what has ended)\n");
  expect(asked).toBeNull();
  await run(ps, ["--all"], { api: { turn: { list } } });
  expect(Date.now() - asked).toBeGreaterThanOrEqual(86_400_000);
});
