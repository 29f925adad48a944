// The log of a team: one line of JSON for each event, for other programs that follow a team.
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { model, runTeamJourney, teamIn, type Player } from "../../support/team-journey.ts";

type LogLine = { timestamp: string; event: string; session_id: string; data: Record<string, unknown> };

const phases = {
  phases: [
    { name: "design", members: [{ key: "a", role: "architect", task: "design it" }] },
    { name: "build", members: [{ key: "b", role: "engineer", task: "build it", validation: [{ kind: "file", path: "built" }] }] },
  ],
};

function linesOf(root: string): LogLine[] {
  const text = readFileSync(join(root, "session.log"), "utf8").trim();
  return text.split("\n").map((line) => JSON.parse(line) as LogLine);
}

test("session.log has a line with time, event, session and data for each event of a team, also of a failed and resumed one", async () => {
  let canBuild = false;
  const player: Player = ({ role }) => {
    if (role === "architect")
      return {
        run: 'echo design > "$SKEIN_SHARED_CONTEXT/design.md" && skein report artifact "$SKEIN_SHARED_CONTEXT/design.md" "the design" && skein msg send --to all hello',
      };
    return canBuild ? { run: "echo x > built" } : "I did nothing.";
  };
  await runTeamJourney(player, async ({ skein }) => {
    writeFileSync(join(skein.project, "plan.json"), JSON.stringify(phases));
    expect((await skein.run(["team", "run", "x", "--phases", "plan.json", ...model])).code).toBe(1);
    const { id, root } = teamIn(skein);
    const failed = linesOf(root);
    expect(failed.at(-1)).toMatchObject({ event: "session_failed", data: { reason: expect.any(String) } });
    expect(failed.find(({ event }) => event === "agent_failed")?.data).toMatchObject({ attempt: 1, restarts: true });
    canBuild = true;
    expect((await skein.run(["team", "resume", id, ...model])).code).toBe(0);
    const lines = linesOf(root);
    expect(lines.slice(0, failed.length)).toEqual(failed);
    expect(lines.at(-1)).toMatchObject({ event: "session_completed", data: { summary: expect.any(String) } });
    for (const event of [
      "session_created",
      "agent_spawned",
      "agent_started",
      "agent_completed",
      "agent_failed",
      "artifact_created",
      "message_sent",
      "checkpoint",
      "session_failed",
      "session_completed",
    ])
      expect(lines.map((line) => line.event)).toContain(event);
    for (const { timestamp, session_id, data } of lines) {
      expect([new Date(timestamp).toISOString(), typeof data]).toEqual([timestamp, "object"]);
      expect(session_id).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(new Set(lines.map(({ session_id }) => session_id)).size).toBe(1);
    const times = lines.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted());
  });
}, 300_000);
