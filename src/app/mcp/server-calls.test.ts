// Calls of servers that work and of servers that do not, each over the real executor.
import { describe, expect, test } from "bun:test";
import { startTestServers, testServer } from "./fixtures/test-servers.ts";

describe("a server that works", () => {
  test("one process answers every call of a turn: tools, resources, prompts, images and a long result", async () => {
    await using servers = startTestServers({ small: testServer() });
    const list = await servers.call("small");
    expect(list.text).toStartWith("small has 9 tools:\n- echo(text: string): Returns its text.\n");
    expect(list.text).toContain('- act(how?: "hang" | "die" | "flood" | "progress")');
    expect(list.text).toEndWith("Instructions of the server: Use echo for echoes.");
    expect(await servers.call("small", "echo", { text: "hallo" })).toEqual({ text: "hallo", isError: false });
    expect((await servers.call("small", "resources/list")).text).toBe("- test://one: The one");
    expect((await servers.call("small", "resources/read", { uri: "test://one" })).text).toBe("the text of the resource");
    expect((await servers.call("small", "resources/read")).isError).toBe(true);
    expect((await servers.call("small", "prompts/list")).text).toBe("- greet(who)");
    expect((await servers.call("small", "prompts/get", { name: "greet", arguments: { who: "me" } })).text).toBe("user: greet me");
    expect(await servers.call("small", "picture")).toMatchObject({ images: [{ mime: "image/png" }], isError: false });
    expect((await servers.call("small", "big", { bytes: 3_000_000 })).text.length).toBe(3_000_000);
    const parallel = await Promise.all(["a", "b", "c"].map((text) => servers.call("small", "echo", { text })));
    expect(parallel.map(({ text }) => text)).toEqual(["a", "b", "c"]);
    expect(servers.startCount()).toBe(1);
  });

  test("a changed list of tools is reported with the next result, and the new tool is listed", async () => {
    await using servers = startTestServers({ small: testServer() });
    expect((await servers.call("small", "grow")).text).toBe("grown\n[the tools of this server have changed; list them again]");
    expect((await servers.call("small")).text).toContain("- grown()");
    expect((await servers.call("small", "echo", { text: "hi" })).text).toBe("hi");
  });

  test("many tools are listed in short lines, and a filter shows some in full", async () => {
    await using servers = startTestServers({ many: testServer("", { env: { TOOL_COUNT: "200" } }) });
    const { text } = await servers.call("many");
    expect(text.length).toBeLessThan(30_000);
    expect(text).toContain("- tool_7(first, second): Does the thing number 7");
    expect(text).toContain("[shortened;");
    const filtered = await servers.call("many", null, { filter: "tool_17" });
    expect(filtered.text).toContain("11 of the 209 tools of many match:");
    expect(filtered.text).toContain("- tool_17(first: string (The first of them), second?: number)");
  });

  test("a call of an unknown tool or server names the nearest one, and an error shows the parameters", async () => {
    await using servers = startTestServers({ small: testServer() });
    expect((await servers.call("smal")).text).toBe("there is no MCP server smal; did you mean small? (the servers are small)");
    const unknown = await servers.call("small", "ecko");
    expect(unknown.text).toContain("[small has no tool ecko; did you mean echo?]");
    const failed = await servers.call("small", "read", { path: "/no/such/file" });
    expect(failed).toMatchObject({ isError: true });
    expect(failed.text).toEndWith("[- read(path: string)]");
  });

  test("lines on stdout that are no messages are skipped, and stderr may be long", async () => {
    await using servers = startTestServers({ loud: testServer("garbage"), noisy: testServer("stderr-flood") });
    expect((await servers.call("loud", "echo", { text: "hi" })).text).toBe("hi");
    expect((await servers.call("noisy", "echo", { text: "hi" })).text).toBe("hi");
  });
});

describe("a server that does not work", () => {
  test("a server that dies in a call gives a result, and the next call starts it again", async () => {
    await using servers = startTestServers({ small: testServer() });
    expect(await servers.call("small", "act", { how: "die" })).toEqual({
      text: "the MCP server small ended with exit code 3",
      isError: true,
    });
    expect((await servers.call("small", "echo", { text: "again" })).text).toBe("again");
    expect(servers.startCount()).toBe(2);
  });

  test("a server that hangs is ended after its time limit, and the next call starts it again", async () => {
    await using servers = startTestServers({ small: testServer("", { timeoutMs: 1_500 }) });
    const hung = await servers.call("small", "act", { how: "hang" });
    expect(hung.text).toContain("gave no answer within 1.5 s and was ended; whether the call had an effect is unknown");
    expect((await servers.call("small", "echo", { text: "again" })).text).toBe("again");
  });

  test("a server that reports progress for ever is ended after a multiple of its time limit", async () => {
    await using servers = startTestServers({ small: testServer("", { timeoutMs: 2_000 }) }, { maxExtensions: 2 });
    await servers.call("small");
    const reporting = await servers.call("small", "act", { how: "progress" });
    expect(reporting.text).toContain("gave no answer within 4.0 s and was ended; whether the call had an effect is unknown");
    expect((await servers.call("small", "echo", { text: "again" })).text).toBe("again");
  }, 30_000);

  test("a server that floods stdout is ended", async () => {
    await using servers = startTestServers({ small: testServer() });
    expect((await servers.call("small", "act", { how: "flood" })).text).toContain(
      "was ended: it printed more than 64 MB without an answer",
    );
    expect((await servers.call("small", "echo", { text: "again" })).text).toBe("again");
  });

  test.each([
    ["die", {}, "ended with exit code 2\nthe license has expired"],
    ["refuse", {}, "answered with an error: not today"],
    ["silent", { timeoutMs: 500 }, "gave no answer within 500 ms and was ended"],
    ["", { command: "no-such-program" }, "can't be started: there is no program no-such-program"],
    ["", { cwd: "/no/such/directory" }, "or no directory /no/such/directory"],
  ] as [string, Parameters<typeof testServer>[1], string][])(
    "a server in mode %j with %j fails with a reason",
    async (mode, options, reason) => {
      await using servers = startTestServers({ bad: testServer(mode, options) });
      const outcome = await servers.call("bad");
      expect(outcome.isError).toBe(true);
      expect(outcome.text).toStartWith("the MCP server bad ");
      expect(outcome.text).toContain(reason);
    },
  );

  test("a cancelled turn ends a call that hangs", async () => {
    await using servers = startTestServers({ small: testServer() });
    await servers.call("small");
    const controller = new AbortController();
    const hanging = servers.call("small", "act", { how: "hang" }, controller.signal);
    controller.abort();
    expect(await hanging).toEqual({ text: "cancelled", isError: true });
  });
});
