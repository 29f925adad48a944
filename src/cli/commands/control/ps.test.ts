// Tests the table of running turns.
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

test("ps lists sub-sessions below their parent, and the status of ended turns", async () => {
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

test("ps says when nothing is running, and --all lists the last day", async () => {
  let since: number | null = 0;
  const list = async ({ endedSince }: { endedSince: number | null }) => ((since = endedSince), []);
  expect((await run(ps, [], { api: { turn: { list } } })).out).toBe("nothing is running (--all lists ended turns)\n");
  expect(since).toBeNull();
  await run(ps, ["--all"], { api: { turn: { list } } });
  expect(Date.now() - since).toBeGreaterThanOrEqual(86_400_000);
});
