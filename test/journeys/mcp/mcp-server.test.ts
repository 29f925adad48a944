// Features of `skein mcp` beside its tools: choice of the project, resources, questions to the user, HTTP with its
// token, long answers, and clear errors for every kind of bad input.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { homeWithFakeClis } from "../../support/fake-clis.ts";
import { stoppingHub, mcpClient, resultOf, serverWith, type McpOptions } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const unreachableVendors = vendorEnv("http://127.0.0.1:9");
const model = wireModels.anthropic;

test("the project comes from --project, else from the client's first root, else from the working directory, and is never /", async () => {
  await using skein = stoppingHub(temporaryHome(unreachableVendors));
  const otherProject = join(skein.root, "other");
  mkdirSync(join(otherProject, ".git"), { recursive: true });
  await skein.run(["new", "here"]);
  await skein.run(["new", "there"], { cwd: otherProject });
  const sessions = async (options: McpOptions) => {
    await using mcp = await mcpClient(skein, options);
    const { output, text, isError } = await mcp.call("list_sessions");
    return isError ? text : (output["sessions"] as { session_id: string }[]).map(({ session_id }) => session_id);
  };
  const withRoots = (uris: string[]): McpOptions => ({
    capabilities: { roots: {} },
    prepare: (client) => client.setRequestHandler("roots/list", () => ({ roots: uris.map((uri) => ({ uri })) })),
  });
  expect(await sessions({})).toEqual(["here"]);
  expect(await sessions({ args: ["--project", otherProject] })).toEqual(["there"]);
  expect(await sessions(withRoots(["file:///nowhere", pathToFileURL(otherProject).href]))).toEqual(["there"]);
  expect(await sessions({ ...withRoots([pathToFileURL(otherProject).href]), args: ["--project", skein.project] })).toEqual(["here"]);
  expect(await sessions({ ...withRoots(["file:///"]), cwd: "/" })).toMatch(/^no project: .*\n.*skein mcp --project/);
  expect(await sessions({ cwd: skein.home })).toMatch(/^no project/);
});

test("sessions, nodes, outputs and live logs can be read as resources", async () => {
  await using server = serverWith(shellScript(["seq 1 20000"], "counted"));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using mcp = await mcpClient(skein);
  await skein.run(["run", "count", "--session", "numbers", "-m", model]);
  const { resources } = await mcp.client.listResources();
  expect(resources.map(({ name }) => name)).toEqual(["numbers"]);
  expect((await mcp.client.listResourceTemplates()).resourceTemplates.length).toBe(4);
  const read = async (uri: string) => {
    const [content] = (await mcp.client.readResource({ uri })).contents;
    return content !== undefined && "text" in content ? content.text : "";
  };
  const conversation = await read(resources[0]!.uri);
  for (const words of ["user: count", "> bash", "agent: counted"]) expect(conversation).toContain(words);
  expect(await read("skein://session/numbers")).toBe(conversation);
  expect(await read("skein://session/numbers/log")).toContain("[native ended: ok]");
  const { nodes } = (await skein.run(["show", "numbers", "--json"])).json() as {
    nodes: { id: string; parts: { handle?: { identifier: string } }[] }[];
  };
  expect(JSON.parse(await read(`skein://node/${nodes[0]!.id}`))).toMatchObject({ id: nodes[0]!.id, author: "user" });
  const handle = nodes.flatMap(({ parts }) => parts).find((part) => part.handle !== undefined)!.handle!;
  expect((await read(`skein://handle/${encodeURIComponent(handle.identifier)}`)).trim().split("\n").length).toBe(20_000);
  for (const uri of ["skein://session/nope", "skein://node/00000000", "skein://handle/nope", "skein://nothing", "file:///etc/passwd"])
    await expect(mcp.client.readResource({ uri })).rejects.toThrow(`there is no resource ${uri}`);
});

const question = { steps: [{ calls: [{ name: "ask_user", input: { question: "Which?", options: ["red", "blue"] } }] }], final: "painted" };

for (const era of ["legacy", "modern"] as const) {
  test(`a question reaches the user of a ${era} client with elicitation, and the answer reaches the agent`, async () => {
    await using server = serverWith(question);
    await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
    const questions: string[] = [];
    const prepare = (client: Client) =>
      client.setRequestHandler("elicitation/create", ({ params }) => {
        questions.push(params.message);
        return { action: "accept" as const, content: { answer: "2" } };
      });
    await using mcp = await mcpClient(skein, { era, capabilities: { elicitation: {} }, prepare });
    const done = await mcp.call("work_with", { agent: "native", task: "paint it", session_id: "paint" });
    expect(done).toMatchObject({ text: "painted", isError: false });
    expect(questions).toEqual(["Which?\n1. red\n2. blue"]);
    expect(server.main().at(-1)?.text).toContain("blue");
  });

  test(`a question that the user of a ${era} client declines can be answered from the command line`, async () => {
    await using server = serverWith(question);
    await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
    const prepare = (client: Client) => client.setRequestHandler("elicitation/create", () => ({ action: "decline" as const }));
    await using mcp = await mcpClient(skein, { era, capabilities: { elicitation: {} }, prepare, args: ["--hand-back-after", "1s"] });
    const handed = await mcp.call("work_with", { agent: "native", task: "paint it", session_id: "paint" });
    expect(handed.output).toMatchObject({ status: "running", questions: [{ question: "Which?", options: ["red", "blue"] }] });
    const [open] = JSON.parse((await skein.run(["asks", "--json"])).out) as { id: string }[];
    expect((await skein.run(["answer", open!.id, "red"])).code).toBe(0);
    expect(await mcp.call("wait_session", { session_id: "paint" })).toMatchObject({ text: "painted" });
  });
}

test("a client without elicitation gets the question as a result and answers with the next task", async () => {
  await using server = serverWith(({ position: { prompt } }) => (prompt.includes("green") ? { steps: [], final: "painted" } : question));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using mcp = await mcpClient(skein);
  const first = await mcp.call("work_with", { agent: "native", task: "paint it", session_id: "paint" });
  expect(first).toMatchObject({ isError: false, output: { status: "needs-input", next: "work_with" } });
  expect(first.text).toContain("It asks: Which? (red | blue)");
  expect(await mcp.call("work_with", { agent: "native", task: "green", session_id: "paint" })).toMatchObject({ text: "painted" });
  expect(server.main().at(-1)?.text).toContain("green");
});

type HttpServer = { url: string; authorization: string; tokenFile: string } & AsyncDisposable;

async function startHttpServer(skein: TemporaryHome): Promise<HttpServer> {
  const child = skein.start(["mcp", "--http"]);
  const url = new TextDecoder().decode((await child.stdout.getReader().read()).value).trim();
  const tokenFile = join(skein.env["SKEIN_HOME"]!, "state", "mcp.token");
  return {
    url,
    tokenFile,
    authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      expect(await child.exited).toBe(0);
    },
  };
}

async function httpClient({ url, authorization }: HttpServer, mode: "legacy" | { pin: string }): Promise<Client> {
  const client = new Client({ name: "journey", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization } } }));
  return client;
}

const generations = ["legacy", { pin: "2026-07-28" }] as const;

test("closing an HTTP request does not stop the turn, but cancel_session does", async () => {
  await using server = serverWith(shellScript(["touch begun; while [ ! -e go ]; do sleep 0.05; done"], "went"));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using httpServer = await startHttpServer(skein);
  for (const [index, mode] of generations.entries()) {
    const client = await httpClient(httpServer, mode);
    const session_id = `web-${index}`;
    const hangUp = new AbortController();
    const work = { agent: "native", task: "wait", session_id };
    const calling = client.callTool({ name: "work_with", arguments: work }, { signal: hangUp.signal });
    while (!existsSync(join(skein.project, "begun"))) await Bun.sleep(20);
    hangUp.abort("bye");
    await expect(calling).rejects.toThrow();
    const callTool = async (name: string, params = {}) =>
      resultOf(await client.callTool({ name, arguments: { session_id, ...params } })).output;
    expect(await callTool("wait_session", { timeout_s: 0.5 })).toMatchObject({ status: "running" });
    expect(await callTool("cancel_session")).toMatchObject({ status: "cancelled" });
    rmSync(join(skein.project, "begun"));
    await client.close();
  }
});

test("the HTTP server serves both protocol generations on loopback, only with the token and not to web pages", async () => {
  await using server = serverWith({ steps: [], final: "an opinion" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using httpServer = await startHttpServer(skein);
  const { url, authorization } = httpServer;
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  expect(statSync(httpServer.tokenFile).mode & 0o777).toBe(0o600);
  for (const mode of generations) {
    const client = await httpClient(httpServer, mode);
    const params = { model: "gpt-5.2", question: "what do you think?", session_id: "web" };
    expect(resultOf(await client.callTool({ name: "consult_with", arguments: params }))).toMatchObject({ text: "an opinion" });
    await client.close();
  }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const status = async (headers: Record<string, string>) =>
    (await fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } })).status;
  expect(await status({})).toBe(401);
  expect(await status({ authorization: "Bearer wrong" })).toBe(401);
  expect(await status({ authorization, origin: "https://evil.example" })).toBe(403);
  expect(await status({ authorization, host: "evil.example" })).toBe(403);
  expect((await fetch(new URL("/", url), { headers: { authorization } })).status).toBe(404);
});

test("an answer of more than 10,000 tokens is stored in a file and returned shortened, with its path", async () => {
  const long = Array.from({ length: 12_000 }, (_, index) => `line ${index}`).join("\n");
  await using server = serverWith({ steps: [], final: long });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using mcp = await mcpClient(skein);
  const { output, text } = await mcp.call("consult_with", { model, question: "all lines", session_id: "lines" });
  const file = String(output["answer_file"]);
  expect(readFileSync(file, "utf8")).toBe(long);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(file).toContain(join(skein.project, ".skein", "sessions"));
  for (const words of ["line 0\n", "line 11999", file]) expect(text).toContain(words);
  expect(text.length).toBeLessThan(30_000);
  expect((await mcp.call("wait_session", { session_id: "lines" })).output).toEqual(output);
});

test("context files are sent complete and only once, and a file that is too big is only named", async () => {
  await using server = serverWith({ steps: [], final: "read" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  writeFileSync(join(skein.project, "small.txt"), `the-small-content ${"x".repeat(100_000)} the-end-of-it`);
  writeFileSync(join(skein.project, "large.txt"), "y".repeat(400_000));
  await using mcp = await mcpClient(skein);
  const params = { model, question: "what is in there?", session_id: "files", context: ["small.txt", "large.txt"] };
  expect((await mcp.call("consult_with", params)).output).toMatchObject({ status: "ok" });
  const count = (words: string) => (server.main().at(-1)?.text ?? "").split(words).length - 1;
  expect([count("the-small-content"), count("the-end-of-it"), count("large.txt (400,000 bytes)"), count("yyyy")]).toEqual([1, 1, 1, 0]);
  await mcp.call("consult_with", { ...params, question: "and now?" });
  expect([count("the-small-content"), count("what is in there?"), count("and now?")]).toEqual([1, 1, 1]);
  const { nodes } = (await skein.run(["show", "files", "--json"])).json() as { nodes: { author: string; parts: { text?: string }[] }[] };
  expect(nodes.filter(({ author }) => author === "user").flatMap(({ parts }) => parts.flatMap(({ text }) => text ?? []))).toEqual([
    "what is in there?",
    "and now?",
  ]);
});

test("role, effort and paths reach the agent, and only the task is stored as the user's message", async () => {
  await using skein = stoppingHub(homeWithFakeClis(["claude", "codex"]));
  writeFileSync(join(skein.project, "notes.md"), "notes");
  await using mcp = await mcpClient(skein);
  const params = { task: "do the work", session_id: "work", role: "a planner", reasoning_effort: "high", context: ["notes.md"] };
  expect((await mcp.call("work_with", { agent: "claude", ...params })).output).toMatchObject({ status: "ok", agent: "claude" });
  expect((await mcp.call("work_with", { agent: "gpt-5.2", ...params })).output).toMatchObject({ status: "ok", agent: "codex" });
  const [claude, codex] = skein.started();
  for (const words of ["--effort=high", "Your role: a planner", join(skein.project, "notes.md")]) expect(claude!.input).toContain(words);
  for (const words of ['model_reasoning_effort="high"', "gpt-5.2", "Your role: a planner"]) expect(codex!.input).toContain(words);
  const session = await skein.run(["show", "work"]);
  expect(session.out).not.toContain("planner");
});

async function createBadFiles(skein: TemporaryHome): Promise<void> {
  writeFileSync(join(skein.project, "huge.bin"), "");
  truncateSync(join(skein.project, "huge.bin"), 50 << 20);
  writeFileSync(join(skein.project, "picture.bin"), Buffer.from([0, 1, 2, 0, 255, 0, 7]));
  writeFileSync(join(skein.root, "outside.txt"), "secret");
  symlinkSync(join(skein.root, "outside.txt"), join(skein.project, "link.txt"));
  await skein.run(["new", "known"]);
}

const work = { agent: "native", task: "t", session_id: "s" };
const consult = { model, question: "q", session_id: "s" };
const wrongCalls: [tool: string, input: Record<string, unknown>, pattern: RegExp][] = [
  ["consult_with", { ...consult, model: "gtp-5.2" }, /^there is no model "gtp-5.2"; did you mean openai\/gpt-5\.2\?/],
  ["consult_with", { ...consult, model: "claude sonet 4 5" }, /^there is no model .*; did you mean anthropic\/claude-sonnet-4-5\?/],
  ["consult_with", { ...consult, model: "zzz" }, /^there is no model "zzz"\nwrite any other model as vendor\/id/],
  ["work_with", { ...work, agent: "deepseek/deepseek-chat" }, /can only be asked over the API.*\nask this model with consult_with/],
  ["work_with", { ...work, agent: "cluade" }, /no agent or model "cluade"; did you mean claude\?/],
  ["work_with", { ...work, agent: "claude" }, /claude/],
  ["work_with", { ...work, agent: "gemini", reasoning_effort: "xhigh" }, /^gemini has no effort xhigh\nit takes low, medium, high$/],
  ["work_with", { ...work, context: ["../outside.txt"] }, /^context: \.\.\/outside\.txt is outside of the project\npaths must be inside /],
  ["work_with", { ...work, context: ["link.txt"] }, /^context: link\.txt is outside of the project/],
  ["work_with", { ...work, context: ["/etc/passwd"] }, /outside of the project/],
  ["work_with", { ...work, context: ["nope.txt"] }, /^context: there is no nope\.txt/],
  ["consult_with", { ...consult, context: ["huge.bin"] }, /huge\.bin has 52,428,800 bytes; a file may have 10,000,000/],
  ["consult_with", { ...consult, context: ["."] }, /is a directory\nname single files/],
  ["consult_with", { ...consult, context: ["picture.bin"] }, /picture\.bin can't be read: .*not text/],
  ["wait_session", { session_id: "nope" }, /no session "nope"/],
  ["cancel_session", { session_id: "nope" }, /no session "nope"/],
  ["follow_session", { session_id: "nope" }, /no session "nope"/],
  ["wait_session", {}, /^session_id is missing$/],
  ["wait_session", { session_id: 7 }, /^session_id must be a text, not 7$/],
  ["wait_session", { sesion_id: "known" }, /^there is no field "sesion_id"; did you mean "session_id"\?$/],
  ["work_with", { ...work, reasoning_effort: "huge" }, /^reasoning_effort must be one of low, medium, high, xhigh$/],
  ["list_sessions", { limit: 0 }, /^limit must be at least 1$/],
];

test("every kind of bad input gets an answer of at most three lines with a hint", async () => {
  await using skein = stoppingHub(temporaryHome(unreachableVendors));
  await createBadFiles(skein);
  await using mcp = await mcpClient(skein);
  for (const [tool, input, pattern] of wrongCalls) {
    const { text, isError } = await mcp.call(tool, input);
    expect({ isError, text }).toEqual({ isError: true, text: expect.stringMatching(pattern) });
    expect(text.split("\n").length, text).toBeLessThanOrEqual(3);
  }
  await expect(mcp.call("chat_with_gpt", {})).rejects.toThrow('there is no tool "chat_with_gpt"');
  expect((await mcp.call("wait_session", { session_id: "known" })).output).toEqual({ status: "idle", session_id: "known" });
});
