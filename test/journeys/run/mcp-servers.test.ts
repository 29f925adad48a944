// MCP servers as tools of the native agent: the first request, calls through the sandbox, the project's .mcp.json, the
// commands that manage servers, and roles.
import { describe, expect, test } from "bun:test";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mcpCall, serverJourney, testServerEntry } from "../../support/server-journey.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { wireModels } from "../../support/temporary-home.ts";

const anthropic = ["-m", wireModels.anthropic];
const requests = join(import.meta.dir, "..", "..", "fixtures", "requests", "first-request.json");

/** Agents in PATH are part of the definition of spawn_session. */
const path = { PATH: "/usr/bin:/bin" };

type Recorded = Record<string, string>;

describe("the first request", () => {
  test("without servers it is byte for byte the recorded one, on every wire", async () => {
    await using journey = serverJourney([], {}, path);
    const { skein, model } = journey;
    const recorded = JSON.parse(readFileSync(requests, "utf8")) as Recorded;
    for (const [wire, name] of Object.entries(wireModels)) {
      model.clear();
      const { session_id: session } = (await skein.run(["run", "say hi", "-m", name, "--json"])).json() as { session_id: string };
      const text = model.main()[0]!.text.replaceAll(skein.project, "<project>").replaceAll(session, "<session>");
      expect([wire, text]).toEqual([wire, recorded[wire]!]);
    }
  });

  test("ten servers of fifty tools each add at most 150 tokens and start nothing", async () => {
    const names = Array.from({ length: 10 }, (_, index) => `server-${index}`);
    const entry = testServerEntry([], { env: { TOOL_COUNT: "50" } });
    await using journey = serverJourney([], Object.fromEntries(names.map((name) => [name, entry])), path);
    expect((await journey.skein.run(["run", "say hi", ...anthropic])).code).toBe(0);
    const before = encode((JSON.parse(readFileSync(requests, "utf8")) as Recorded)["anthropic"]!).length;
    const { text } = journey.model.main()[0]!;
    for (const name of names) expect(text).toContain(name);
    expect(encode(text.replaceAll(journey.skein.project, "<project>")).length - before).toBeLessThanOrEqual(150);
  });
});

test("a turn uses a server in the sandbox: its own variables and no keys, bounded results with the whole, images", async () => {
  const steps = [
    mcpCall("small"),
    mcpCall("small", "env"),
    mcpCall("small", "write", { path: "made.txt" }),
    mcpCall("small", "picture"),
    mcpCall("small", "big", { bytes: 150_000 }),
    mcpCall("small", "act", { how: "die" }),
    mcpCall("small", "echo", { text: "after" }),
    mcpCall("smal"),
    mcpCall("small", "echo", '{"text": "as a string"}' as never),
  ];
  await using journey = serverJourney(
    steps,
    { small: testServerEntry([], { env: { OWN: "$OWN_TOKEN" }, cwd: "." }) },
    { OWN_TOKEN: "t0ken" },
  );
  const { code, err } = await journey.skein.run(["run", "go", ...anthropic]);
  expect([code, err]).toEqual([0, expect.not.stringContaining("skein:")]);
  const [list, env, write, picture, big, died, after, unknown, asText] = journey.results();
  expect(list).toStartWith("small has 9 tools:");
  const variables = JSON.parse(env!) as Record<string, string>;
  expect(variables).toMatchObject({ OWN: "t0ken", CWD: journey.skein.project });
  expect(Object.keys(variables).filter((name) => /KEY|OWN_TOKEN|BASE_URL/.test(name))).toEqual([]);
  expect(write).toBe("wrote made.txt");
  expect(existsSync(join(journey.skein.project, "made.txt"))).toBe(true);
  expect(picture).toBe("[image/png, 72 bytes]\n(image)");
  expect(big!.length).toBeLessThan(34_000);
  expect(big).toMatch(/\[whole output, 150000 bytes: read path "mcp:[0-9a-f-]{36}\/\d+"\]$/);
  expect([died, after]).toEqual(["the MCP server small ended with exit code 3", "after"]);
  expect(unknown).toContain("did you mean small?");
  expect(asText).toBe("as a string");
  expect(await waitForNoProcesses(journey.skein.root, 10_000)).toEqual([]);
});

test("a result that was shortened can be read in whole by its path", async () => {
  await using journey = serverJourney([mcpCall("small", "big", { bytes: 60_000 })], { small: testServerEntry() });
  const { session_id: session } = (await journey.skein.run(["run", "go", ...anthropic, "--json"])).json() as { session_id: string };
  const handle = /mcp:[0-9a-f-]{36}\/\d+/.exec(journey.results()[0]!)![0];
  journey.model.setScript(({ position }) => ({
    steps: position.prompt.includes("read") ? [{ calls: [{ name: "read", input: { path: handle, offset: 3000 } }] }] : [],
    final: "done",
  }));
  await journey.skein.run(["run", "read it", "--session", session, ...anthropic]);
  expect(journey.results().at(-1)).toStartWith("a line of text\na line of text\n");
});

describe("the servers of .mcp.json", () => {
  test("they count only after skein trust, and until the file changes", async () => {
    await using journey = serverJourney([mcpCall("shared", "echo", { text: "hi" })], {});
    const { skein, model } = journey;
    const file = join(skein.project, ".mcp.json");
    const write = (more: object) =>
      writeFileSync(file, JSON.stringify({ mcpServers: { shared: { type: "stdio", ...testServerEntry(), ...more }, "b ad": {} } }));
    write({});
    const untrusted = await skein.run(["run", "go", ...anthropic]);
    expect(untrusted.err).toContain(`${file} is not trusted, so its server can't be used; read it, then run \`skein trust\``);
    expect(model.main()[0]!.text).not.toContain('"mcp"');
    expect((await skein.run(["trust"])).out).toContain("  .mcp.json\n");
    model.clear();
    expect((await skein.run(["run", "go", ...anthropic])).code).toBe(0);
    expect(journey.results()).toEqual(["hi"]);
    write({ env: { X: "changed" } });
    expect((await skein.run(["mcp", "list", "--json"])).json()).toMatchObject([{ name: "shared", state: "untrusted" }]);
    writeFileSync(file, "{ not JSON");
    const broken = await skein.run(["mcp", "list"]);
    expect([broken.code, broken.err]).toEqual([0, expect.stringContaining(`${file} is left out: `)]);
  });
});

describe("tools and roles", () => {
  test("--tools may name mcp, a role without it has no servers, and without a server there is a clear error", async () => {
    await using journey = serverJourney([], { small: testServerEntry() });
    const { skein, model } = journey;
    const toolsOf = () => (model.main().at(-1)!.body as unknown as { tools?: { name: string }[] }).tools?.map(({ name }) => name) ?? [];
    await skein.run(["run", "go", ...anthropic, "--tools", "read,mcp"]);
    expect(toolsOf()).toEqual(["read", "mcp"]);
    await skein.run(["run", "go", ...anthropic, "--tool-level", "none"]);
    expect(toolsOf()).toEqual([]);
    await skein.run(["run", "go", ...anthropic, "--role", "codereviewer"]);
    expect(toolsOf()).not.toContain("mcp");
    await skein.run(["run", "go", ...anthropic, "--role", "engineer"]);
    expect(toolsOf()).toContain("mcp");
    mkdirSync(join(skein.env["SKEIN_HOME"]!, "config", "roles"), { recursive: true });
    writeFileSync(
      join(skein.env["SKEIN_HOME"]!, "config", "roles", "browser.md"),
      "---\nname: browser\ndescription: Looks.\ntools: read, mcp\n---\nLook.\n",
    );
    expect((await skein.run(["run", "go", ...anthropic, "--role", "browser"])).err).not.toContain("skein:");
    expect(toolsOf()).toEqual(["read", "mcp", "ask_user"]);
    await skein.run(["mcp", "remove", "small"]);
    const { code, err } = await skein.run(["run", "go", ...anthropic, "--tools", "mcp"]);
    expect([code, err]).toEqual([
      2,
      "skein: no MCP server is configured, so there is no tool mcp\n       skein mcp add <name> -- <command>\n",
    ]);
  });
});

describe("skein mcp add, list, get, remove and try", () => {
  test("a server is added, listed without its secrets, tried in the sandbox and removed", async () => {
    await using journey = serverJourney([], {});
    const { skein } = journey;
    const { command, args } = testServerEntry() as { command: string; args: string[] };
    const added = await skein.run(["mcp", "add", "small", "-e", "TOKEN=s3cret", "-e", "PLACE=$HOME", "--", command, ...args]);
    expect(added.out).toStartWith("added small to ");
    const loaded = await skein.run(["mcp", "add", "loaded", "--", "npx", "-y", "pkg"]);
    expect(loaded.err).toContain("install the package and name its program, or allow --net registry.npmjs.org\n");
    expect((await skein.run(["mcp", "remove", "loaded"])).code).toBe(0);
    expect((await skein.run(["mcp", "get", "small"])).out).toContain("agents    native\n");
    expect(
      (await skein.run(["mcp", "add", "web", "https://example.com/mcp?key=1", "-H", "Authorization: Bearer x", "--other-agents"])).code,
    ).toBe(0);
    const listed = await skein.run(["mcp", "list", "--json"]);
    expect(listed.json()).toMatchObject([
      { name: "small", state: "ready", kind: "stdio", variables: ["TOKEN", "PLACE"], other_agents: false },
      {
        name: "web",
        state: "ready",
        kind: "http",
        target: "https://example.com/mcp?(set)",
        header_names: ["Authorization"],
        other_agents: true,
      },
    ]);
    expect(listed.out).not.toContain("s3cret");
    expect((await skein.run(["mcp", "get", "web"])).out).toContain("headers   Authorization\n");
    expect((await skein.run(["mcp", "try", "small"])).out).toStartWith("small has 9 tools:\n- echo(text: string)");
    const env = (await skein.run(["mcp", "try", "small", "env", "--json"])).json() as { text: string; is_error: boolean };
    expect(JSON.parse(env.text)).toMatchObject({ TOKEN: "s3cret", PLACE: skein.home });
    const failed = await skein.run(["mcp", "try", "small", "write", '{"path": "/etc/hack"}']);
    expect([failed.code, failed.out]).toEqual([1, expect.stringContaining("[- write(path: string): Writes a file.]")]);
    expect((await skein.run(["mcp", "remove", "small"])).out).toStartWith("removed small from ");
    expect((await skein.run(["mcp", "list", "--json"])).json()).toMatchObject([{ name: "web" }]);
  });

  test.each([
    [["mcp", "add", "x"], "mcp add needs a command or a URL"],
    [["mcp", "add", "x", "npx", "-y", "pkg"], "put -- before its command: skein mcp add x -- npx -y pkg"],
    [["mcp", "remove", "small", "--scope", "project"], "       skein mcp remove small\n"],
    [["mcp", "add", "bad name", "x"], '"bad name" can\'t be the name of a server'],
    [["mcp", "add", "x", '{"command": "a", "bogus": 1}'], 'a server has no field "bogus"'],
    [["mcp", "add", "x", '{"url": "ftp://a"}'], '"url" of a server must be a URL'],
    [["mcp", "add", "x", "-H", "A: b", "--", "y"], "--header does not go with a command"],
    [["mcp", "add", "x", "-e", "novalue", "--", "y"], "--env takes NAME=value"],
    [["mcp", "get", "smal"], 'there is no MCP server "smal"\n       did you mean "small"?'],
    [["mcp", "try", "smal"], 'there is no MCP server "smal"\n       did you mean "small"?'],
    [["mcp", "remove", "smal"], 'did you mean "small"?'],
    [["mcp", "try", "small", "echo", "x"], "the arguments of the tool must be a JSON object"],
    [["mcp", "lst"], 'did you mean "skein mcp list"?'],
    [["mcp", "list", "--env", "a=b"], "--env does not go with mcp list"],
    [["mcp", "--env", "a=b"], "--env goes with mcp add"],
  ])("%j is refused with a reason", async (args, reason) => {
    await using journey = serverJourney([], { small: testServerEntry() });
    const { code, err } = await journey.skein.run(args);
    expect([code, err]).toEqual([2, expect.stringContaining(reason)]);
  });
});
