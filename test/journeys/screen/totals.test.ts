// The figures on the full screen: costs with sub-sessions, the members of a team, and the status bar.
import { expect, test } from "bun:test";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { startScreen } from "../../support/pty-screen.ts";
import { runTeamJourney } from "../../support/team-journey.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
const wide = { columns: 160, rows: 40 };

test(":budget, the turn line and the status bar include the cost of sub-sessions", async () => {
  const calls = ["read the parser", "write the tests"].map((task) => ({ name: "spawn_session", input: { task } }));
  const server = startModelServer(({ position: { prompt } }) =>
    prompt === "do both" ? { steps: [{ calls }], final: "all back" } : { steps: [], final: "done" },
  );
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const ran = (await skein.run(["run", "do both", "--session", "both", "--json", ...model])).json();
    const cost = ran["cost_usd"] as number;
    const { turns } = (await skein.run(["show", "both", "--json"])).json() as { turns: { cost_usd: number }[] };
    expect(cost).toBeGreaterThan(turns[0]!.cost_usd);
    await using screen = startScreen(skein, ["tui", "both", ...model], { size: wide });
    const opened = await screen.until(/all back[^]*\[INSERT\] \[idle\]/);
    expect(Number(/── ok · 2 steps · in \S+ out \S+ · \$(\d\.\d+) ─/.exec(opened)?.[1])).toBeCloseTo(cost, 3);
    expect(Number(/\[.*total i:\d+ o:\d+ \$(\d\.\d+)\]/.exec(opened)?.[1])).toBeCloseTo(cost, 2);
    screen.type("\x1b");
    await screen.until("[NORMAL]");
    screen.type(":budget\r");
    const costs = await screen.until("of it sub-sessions");
    const amountIn = (row: RegExp) => Number(/\$(\d+\.\d+)/.exec(costs.split("\n").find((line) => row.test(line)) ?? "")?.[1]);
    expect(amountIn(/this branch/)).toBeCloseTo(cost, 3);
    expect(amountIn(/│ +1 /)).toBeCloseTo(cost, 3);
    expect(amountIn(/of it sub-sessions/)).toBeCloseTo(cost - turns[0]!.cost_usd, 3);
    screen.hangUp();
    await screen.exited;
  } finally {
    await server.stop();
  }
}, 60_000);

test("the agents panel shows the role, tokens and cost of a team and its members", async () => {
  await runTeamJourney(
    () => "done",
    async ({ skein }) => {
      const run = await skein.run(["team", "run", "x", "--agents", "engineer,reviewer", ...model, "--output-format", "json"]);
      const { cost_usd: cost } = run.json() as { cost_usd: number };
      await using screen = startScreen(skein, ["tui", ...model], { size: wide });
      await screen.until("[INSERT] [idle]");
      screen.type(" a");
      const panel = await screen.until(/SESSION +STATE +AGE +AGENT +ROLE +MODEL +TOKENS +COST/);
      const rows = panel.split("\n").filter((line) => /^│ +[0-9a-f]{8}.* ok +.* (team|native) /.test(line));
      const costOf = (row: string) => Number(/\$(\d+\.\d+)/.exec(row)?.[1]);
      const team = rows.find((row) => / team /.test(row))!;
      const members = rows.filter((row) => row !== team);
      expect(costOf(team)).toBeCloseTo(cost, 4);
      expect(members.map((row) => / (engineer|reviewer) /.exec(row)?.[1])).toEqual(["reviewer", "engineer"]);
      expect(members.reduce((sum, row) => sum + costOf(row), 0)).toBeCloseTo(cost, 3);
      for (const row of [team, ...members]) expect(row).toMatch(/ [1-9][\d.]*k? +\$/);
      screen.hangUp();
      await screen.exited;
    },
  );
}, 120_000);

test("the status bar has four sections, keeps the totals at 80 columns, and colours the network green or red", async () => {
  const server = startModelServer({ steps: [], final: "hello" });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    expect((await skein.run(["run", "hi", "--session", "one", ...model])).code).toBe(0);
    await using screen = startScreen(skein, ["tui", "one", ...model]);
    await screen.until(/\[INSERT\] \[idle\] \[.*total i:\d+ o:\d+ \$0\.00\d*\] \[NET: off\] \[SANDBOX: \w+\]/);
    expect(screen.styleOf("[NET: off]")).toMatchObject({ color: 1, isInverse: true });
    screen.type("\x1b");
    await screen.until("[NORMAL]");
    screen.type(" n");
    await screen.until("[NET: on]");
    expect(screen.styleOf("[NET: on]")).toMatchObject({ color: 2, isInverse: true });
    screen.hangUp();
    await screen.exited;
  } finally {
    await server.stop();
  }
}, 60_000);

test("the leader shows its keys, and says when it was cancelled", async () => {
  using skein = temporaryHome(vendorEnv("http://127.0.0.1:9"));
  await using screen = startScreen(skein, ["tui", ...model]);
  await screen.until("[INSERT] [idle]");
  screen.type("\x1b");
  await screen.until("[NORMAL]");
  screen.type(" ");
  await screen.until(/n +network|network/i);
  screen.type("\x1b");
  await screen.until(/^(?!.*cancelled: )[^]*Space cancelled/);
  screen.type(" z");
  await screen.until("Space cancelled: no command for Space z");
  screen.hangUp();
  await screen.exited;
}, 60_000);
