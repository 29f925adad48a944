// `skein mcp install`: the written file, its path, and that the written command starts a server.
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryHome, vendorEnv } from "../support/temporary-home.ts";

test("mcp install writes a command that starts a server, and --remove deletes it", async () => {
  using skein = temporaryHome();
  const file = join(skein.home, ".claude.json");
  const first = await skein.run(["mcp", "install", "claude"]);
  expect([first.code, first.out, first.err]).toEqual([0, `Claude Code uses skein from its next start; changed ${file}\n`, ""]);
  const { mcpServers } = JSON.parse(readFileSync(file, "utf8")) as { mcpServers: { skein: { command: string; args: string[] } } };
  const { command, args } = mcpServers.skein;
  const greeting = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "smoke", version: "1" } },
  };
  const stdin = new Blob([`${JSON.stringify(greeting)}\n`]);
  const child = Bun.spawn([command, ...args], { cwd: skein.project, env: skein.env, stdin, stdout: "pipe", stderr: "inherit" });
  expect(JSON.parse(await new Response(child.stdout).text())).toMatchObject({ result: { serverInfo: { name: "skein" } } });
  expect(await child.exited).toBe(0);
  const again = (await skein.run(["mcp", "install", "claude", "--json"])).json();
  expect(again).toMatchObject({ client: "claude", file, outcome: "unchanged", written: false, backup: null });
  const out = (await skein.run(["mcp", "install", "claude", "--remove"])).out;
  expect(out).toBe(`skein was removed from Claude Code; changed ${file}\n`);
  expect(readFileSync(file, "utf8")).toBe("{}\n");
});

test("--print writes nothing, and only the names of keys are written, never their values", async () => {
  using skein = temporaryHome(vendorEnv("http://127.0.0.1:9"));
  for (const client of ["claude", "claude-desktop", "codex", "gemini", "opencode", "cursor", "zed"]) {
    const preview = await skein.run(["mcp", "install", client, "--print"]);
    expect([preview.code, preview.out.split("\n")[0]]).toEqual([0, expect.stringContaining(`would be written to ${skein.home}/`)]);
    expect(preview.out).not.toContain("key-anthropic");
  }
  expect(existsSync(join(skein.home, ".claude.json")) || existsSync(join(skein.home, ".codex"))).toBe(false);
  await skein.run(["mcp", "install", "codex"]);
  const { mcp_servers } = Bun.TOML.parse(readFileSync(join(skein.home, ".codex/config.toml"), "utf8")) as {
    mcp_servers: { skein: { env_vars: string[] } };
  };
  expect(mcp_servers.skein.env_vars).toEqual([
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "GEMINI_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "OLLAMA_HOST",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "SKEIN_HOME",
  ]);
});

test("--project writes the project's own file, or passes the project to a client without such a file", async () => {
  using skein = temporaryHome();
  await skein.run(["mcp", "install", "cursor", "--project", ".", "--hand-back-after", "30s"]);
  expect(JSON.parse(readFileSync(join(skein.project, ".cursor/mcp.json"), "utf8"))).toMatchObject({
    mcpServers: { skein: { args: expect.arrayContaining(["mcp", "--hand-back-after", "30s"]) } },
  });
  const desktop = await skein.run(["mcp", "install", "claude-desktop", "--project", "."]);
  expect(desktop.err).toContain("passes no keys to skein");
  expect(readFileSync(join(skein.home, ".config/Claude/claude_desktop_config.json"), "utf8")).toContain(skein.project);
});
