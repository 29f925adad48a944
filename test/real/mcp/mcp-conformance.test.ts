// Tests skein mcp with the protocol's own tools from npm: the conformance suite (it has only HTTP) and the inspector's command
// line (stdio and HTTP).
//
// Most scenarios of the suite call tools, prompts and resources of a special test server by name (`test_simple_text`,
// `test://static-text`, `test_prompt_with_arguments`), so they can't test other servers. `notApplicable` lists each of
// them with its requirement. A scenario that is in neither table fails the test, so a new one can't be missed.
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { peerPrograms } from "../../../bench/peers.ts";
import { stoppingHub } from "../../support/mcp-clients.ts";
import { npmTool } from "../../support/npm-tool.ts";
import { skeinCommand, temporaryHome, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";

const nowhere = vendorEnv("http://127.0.0.1:9");

/** Scenarios for every server. */
const applicable = ["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"];

/** Scenarios that need something that skein does not have. */
const notApplicable: Record<string, string> = {
  "logging-set-level": "the capability logging, deprecated since 2026-07-28",
  "completion-complete": "a prompt to complete",
  "tools-call-simple-text": "the tool test_simple_text",
  "tools-call-image": "the tool test_image_content",
  "tools-call-audio": "the tool test_audio_content",
  "tools-call-embedded-resource": "the tool test_embedded_resource",
  "tools-call-mixed-content": "the tool test_multiple_content_types",
  "tools-call-with-logging": "the tool test_tool_with_logging",
  "tools-call-error": "the tool test_error_handling",
  "tools-call-with-progress": "the tool test_tool_with_progress",
  "tools-call-sampling": "the tool test_sampling",
  "tools-call-elicitation": "the tool test_elicitation",
  "json-schema-2020-12": "the tool json_schema_2020_12_tool",
  "elicitation-sep1034-defaults": "the tool test_elicitation_sep1034_defaults",
  "elicitation-sep1330-enums": "the tool test_elicitation_sep1330_enums",
  "server-sse-polling": "the tool test_reconnection, and streams that continue in a session",
  "server-sse-multiple-streams": "sessions that a server keeps; ours is stateless",
  "resources-read-text": "the resource test://static-text",
  "resources-read-binary": "the resource test://static-binary",
  "resources-templates-read": "the resource test://template/{id}/data",
  "resources-subscribe": "the capability resources.subscribe",
  "resources-unsubscribe": "the capability resources.subscribe",
  "prompts-list": "the capability prompts",
  "prompts-get-simple": "the prompt test_simple_prompt",
  "prompts-get-with-args": "the prompt test_prompt_with_arguments",
  "prompts-get-embedded-resource": "the prompt test_prompt_with_embedded_resource",
  "prompts-get-with-image": "the prompt test_prompt_with_image",
};

test("every scenario of the conformance suite for all servers passes over HTTP", async () => {
  const suite = await npmTool("conformance", "@modelcontextprotocol/conformance@0.1.16", "@modelcontextprotocol/conformance/dist/index.js");
  const listed = (await outputOf([...suite, "list"])).out;
  const servers = listed.slice(listed.indexOf("Server scenarios"), listed.indexOf("Client scenarios"));
  const scenarios = [...servers.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name!);
  expect(scenarios.toSorted()).toEqual([...applicable, ...Object.keys(notApplicable)].toSorted());
  await using skein = stoppingHub(temporaryHome(nowhere));
  await using server = await httpServer(skein);
  // The suite can't send a token. This proxy adds it and changes nothing else.
  await using open = withToken(server);
  for (const scenario of applicable) {
    const { code, out } = await outputOf([...suite, "server", "--url", open.url, "--scenario", scenario]);
    expect({ scenario, code, out }).toEqual({ scenario, code: 0, out: expect.stringMatching(/[1-9]\d*\/[1-9]\d*|passed/i) });
  }
});

test("the inspector lists and calls tools and resources over stdio and over HTTP", async () => {
  const inspector = await npmTool("inspector", "@modelcontextprotocol/inspector@2.12.0", ".bin/mcp-inspector");
  await using skein = stoppingHub(temporaryHome(nowhere));
  await skein.run(["new", "alpha"]);
  await using server = await httpServer(skein);
  const overHttp = [server.url, "--transport", "http", "--header", `Authorization: Bearer ${server.token}`];
  for (const target of [[programOf(skein), "mcp"], overHttp]) {
    const ask = async (...args: string[]) => {
      const { code, out } = await outputOf([...inspector, "--cli", ...target, ...args], skein);
      expect({ args, code, out }).toEqual({ args, code: 0, out: expect.stringContaining("{") });
      return JSON.parse(out.slice(out.indexOf("{"))) as Record<string, unknown>;
    };
    const { tools } = (await ask("--method", "tools/list")) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toContain("work_with");
    const listed = await ask("--method", "tools/call", "--tool-name", "list_sessions", "--tool-arg", "limit=3");
    expect(listed["structuredContent"]).toMatchObject({ sessions: [{ session_id: "alpha" }] });
    const { resources } = (await ask("--method", "resources/list")) as { resources: { name: string }[] };
    expect(resources.map(({ name }) => name)).toEqual(["alpha"]);
    const read = await ask("--method", "resources/read", "--uri", "skein://session/alpha/log");
    expect(read["contents"]).toMatchObject([{ text: "[idle, seq 0]" }]);
  }
});

/** Writes a script with skein's command and environment. The inspector parses flags itself and passes few variables on. */
function programOf(skein: TemporaryHome): string {
  const file = join(skein.root, "skein-here");
  const exports = Object.entries(skein.env).map(([name, value]) => `export ${name}='${value}'\n`);
  writeFileSync(file, `#!/bin/sh\n${exports.join("")}exec ${skeinCommand().join(" ")} "$@"\n`, { mode: 0o755 });
  return file;
}

type HttpServer = { url: string; token: string } & AsyncDisposable;

async function httpServer(skein: TemporaryHome): Promise<HttpServer> {
  const child = skein.start(["mcp", "--http"]);
  const url = new TextDecoder().decode((await child.stdout.getReader().read()).value).trim();
  const token = readFileSync(join(skein.env["SKEIN_HOME"]!, "state", "mcp.token"), "utf8").trim();
  return {
    url,
    token,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

function withToken({ url, token }: HttpServer): { url: string } & AsyncDisposable {
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${token}`);
      return fetch(url, { method: request.method, headers, body: request.body });
    },
  });
  return { url: `http://127.0.0.1:${proxy.port}/mcp`, [Symbol.asyncDispose]: () => proxy.stop(true) };
}

async function outputOf(command: string[], skein?: TemporaryHome): Promise<{ code: number; out: string }> {
  const env = { ...(skein?.env ?? process.env), PATH: `${dirname(peerPrograms.node)}:${process.env["PATH"] ?? ""}` };
  const child = Bun.spawn(command, {
    ...(skein === undefined ? {} : { cwd: skein.project }),
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return { code, out: code === 0 ? out : `${out}\n${err}` };
}
