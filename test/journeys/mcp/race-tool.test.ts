// The tool `race` of `skein mcp --toolset team` with the official client: a race to its end, its record, and refusals.
import { expect, test } from "bun:test";
import { mcpClient, serverWith, stoppingHub } from "../../support/mcp-clients.ts";
import { both, raceOf, raceRepository, scriptOf } from "../../support/race-journey.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

test(
  "a client can run a race, read it again, and gets an error for another task and for an unknown agent",
  { timeout: 300_000 },
  async () => {
    const scripts = {
      claude: { run: "printf '1\\n2\\n' > result.txt", say: "claude is done" },
      gpt: { run: "echo 1 > result.txt", say: "gpt is done" },
    };
    await using server = serverWith(scriptOf(scripts));
    await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
    raceRepository(skein.project);
    await using mcp = await mcpClient(skein, { args: ["--toolset", "team"] });
    const request = { task: "write result.txt", agents: both[1]!.split(","), session_id: "duel", check: "test -s result.txt" };
    const { output, text } = await mcp.call("race", request);
    const race = raceOf(output["race"]);
    expect([output["status"], race.state, race.proposed]).toEqual(["ok", "ended", "native-2"]);
    expect(race.racers.map(({ added, check }) => [added, check?.passed])).toEqual([
      [2, true],
      [1, true],
    ]);
    expect(text).toContain("Proposed: native-2");
    const requests = server.main().length;
    expect(raceOf((await mcp.call("race", request)).output["race"])).toMatchObject({ sessionId: race.sessionId, state: "ended" });
    expect(server.main().length).toBe(requests);
    const other = await mcp.call("race", { ...request, task: "something else" });
    expect([other.isError, other.output["error"]]).toEqual([true, expect.objectContaining({ code: "SPAWN_FAILED" })]);
    const unknown = await mcp.call("race", { ...request, session_id: "third", agents: ["nobody"] });
    expect([unknown.isError, unknown.output["error"]]).toEqual([true, expect.objectContaining({ code: "SPAWN_FAILED" })]);
  },
);
