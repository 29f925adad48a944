// skein mcp with the official clients of both generations, over stdio, against the real program and a scripted model.
import { expect, test } from "bun:test";
import { temporaryHouse, vendorEnv, type TemporaryHouse } from "../support/skein.ts";
import { mcpClient, oldMcpClient } from "../support/mcp-clients.ts";

/** A house whose hub, if there is one, ends with it. */
function houseWithHub(env: Record<string, string> = {}): TemporaryHouse & AsyncDisposable {
  const house = temporaryHouse(env);
  return Object.assign(house, {
    async [Symbol.asyncDispose]() {
      await house.run(["hub", "stop", "--wait", "0"]);
      house[Symbol.dispose]();
    },
  });
}

for (const era of ["legacy", "modern"] as const) {
  test(`a ${era} client is told the tools and calls one`, async () => {
    await using house = houseWithHub(vendorEnv("http://127.0.0.1:9"));
    await using talk = await mcpClient(house, { era });
    const { tools } = await talk.client.listTools();
    expect(tools.map(({ name }) => name)).toContain("list_sessions");
    expect(await talk.call("list_sessions")).toEqual({ text: "no sessions yet", output: { sessions: [] }, isError: false });
    await house.run(["new", "alpha"]);
    expect((await talk.call("list_sessions", { search: "ALP" })).output).toMatchObject({
      sessions: [{ session_id: "alpha", state: "idle", agent: "native" }],
    });
    expect(talk.said()).toBe("");
  });
}

test("a client of the first SDK is served as well", async () => {
  await using house = houseWithHub();
  await using client = await oldMcpClient(house);
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("list_sessions");
  expect((await client.callTool({ name: "list_sessions" })).structuredContent).toEqual({ sessions: [] });
});
