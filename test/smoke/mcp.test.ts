// `skein mcp` over stdio: the official client in both protocol generations, the real program and a scripted model.
import { expect, test } from "bun:test";
import { homeWithFakeClis } from "../support/fake-clis.ts";
import { stoppingHub, mcpClient, serverWith } from "../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../support/temporary-home.ts";

for (const era of ["legacy", "modern"] as const) {
  test(`a ${era} client can list the tools and call one`, async () => {
    await using skein = stoppingHub(temporaryHome(vendorEnv("http://127.0.0.1:9")));
    await using mcp = await mcpClient(skein, { era });
    const { tools } = await mcp.client.listTools();
    expect(tools.map(({ name }) => name)).toContain("list_sessions");
    expect(await mcp.call("list_sessions")).toEqual({ text: "no sessions yet", output: { sessions: [] }, isError: false });
    await skein.run(["new", "alpha"]);
    expect((await mcp.call("list_sessions", { search: "ALP" })).output).toMatchObject({
      sessions: [{ session_id: "alpha", state: "idle", agent: "native" }],
    });
    expect(mcp.stderrText()).toBe("");
  });
}

function timesIn(text: string | undefined, words: string[]): Record<string, number> {
  return Object.fromEntries(words.map((word) => [word, (text ?? "").split(word).length - 1]));
}

for (const era of ["legacy", "modern"] as const) {
  test(`a model and an agent that take turns in one session of a ${era} client get every message exactly once`, async () => {
    await using server = serverWith({ steps: [], final: "the-first-opinion" });
    await using skein = stoppingHub(homeWithFakeClis(["claude"], vendorEnv(server.url)));
    await using mcp = await mcpClient(skein, { era });

    const first = await mcp.call("consult_with", { model: "GPT 5.2", question: "question-one", session_id: "matter" });
    expect(first).toMatchObject({ text: "the-first-opinion", isError: false });
    expect(first.output).toMatchObject({
      status: "ok",
      session_id: "matter",
      answer: "the-first-opinion",
      agent: "native",
      model: "openai/gpt-5.2",
    });

    const second = await mcp.call("work_with", { agent: "claude", task: "task-two", session_id: "matter" });
    expect(second.output).toMatchObject({ status: "ok", answer: "All three were said.", agent: "claude" });
    expect(skein.started()[0]).toMatchObject({ name: "claude", how: "new" });
    expect(timesIn(skein.started()[0]?.input, ["question-one", "the-first-opinion", "task-two"])).toEqual({
      "question-one": 1,
      "the-first-opinion": 1,
      "task-two": 1,
    });

    server.setScript({ steps: [], final: "the-second-opinion" });
    await mcp.call("consult_with", { model: "openai/gpt-5.2", question: "question-three", session_id: "matter" });
    const words = ["question-one", "the-first-opinion", "task-two", "All three were said.", "question-three"];
    expect(timesIn(server.main().at(-1)?.text, words)).toEqual(Object.fromEntries(words.map((word) => [word, 1])));

    await mcp.call("work_with", { agent: "claude", task: "task-four", session_id: "matter", role: "tester" });
    const agentInput = skein.started().at(-1)?.input;
    expect(timesIn(agentInput, ["question-three", "the-second-opinion", "task-four"])).toEqual({
      "question-three": 1,
      "the-second-opinion": 1,
      "task-four": 1,
    });
    expect(agentInput).toContain("You are the tester: ");

    const session = await skein.run(["show", "matter"]);
    for (const word of ["question-one", "task-two", "question-three", "task-four"])
      expect(timesIn(session.out, [word])).toEqual({ [word]: 1 });
    expect((await skein.run(["chat", "matter"], { stdin: "question-five\n" })).code).toBe(0);
    expect(skein.started().at(-1)).toMatchObject({ name: "claude", how: "resume" });
    await mcp.call("consult_with", { model: "gpt-5.2", question: "question-six", session_id: "matter" });
    expect(timesIn(server.main().at(-1)?.text, ["question-five", "question-six", "task-four"])).toEqual({
      "question-five": 1,
      "question-six": 1,
      "task-four": 1,
    });
    expect(mcp.stderrText()).toBe("");
  });
}
