// The token of `skein mcp --http`. Every local user can connect to the port, so a missing or empty token must admit nobody.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryHome, type TemporaryHome, skeinCommand } from "../support/temporary-home.ts";

const stateOf = ({ env }: TemporaryHome) => join(env["SKEIN_HOME"] as string, "state");

async function statusOf(url: string, token: string | null): Promise<number> {
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  return answer.status;
}

async function urlOf(child: { stdout: ReadableStream<Uint8Array> }): Promise<string> {
  const reader = child.stdout.getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  return text.trim();
}

test.each(["", "\n", "short"])("a token file with %j is refused, and no server starts", async (content) => {
  using skein = temporaryHome();
  mkdirSync(stateOf(skein), { recursive: true });
  writeFileSync(join(stateOf(skein), "mcp.token"), content);
  const child = skein.start(["mcp", "--http"]);
  const url = await urlOf(child);
  // The old server printed its address here and admitted everyone.
  if (url !== "") expect(await statusOf(url, null)).toBe(401);
  expect(url).toBe("");
  expect(await child.exited).not.toBe(0);
  expect(await new Response(child.stderr).text()).toContain("mcp.token");
});

test("a start on a full disk leaves no token file behind", async () => {
  using skein = temporaryHome();
  mkdirSync(stateOf(skein), { recursive: true });
  const limited = ["/bin/bash", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "limited", ...skeinCommand(), "mcp", "--http"];
  const child = Bun.spawn(limited, { cwd: skein.project, env: skein.env, stdio: ["ignore", "pipe", "ignore"] });
  expect(await urlOf(child)).toBe("");
  await child.exited;
  expect(existsSync(join(stateOf(skein), "mcp.token"))).toBe(false);
});

test("servers that start together share one token", async () => {
  using skein = temporaryHome();
  const children = Array.from({ length: 4 }, () => skein.start(["mcp", "--http"]));
  const urls = await Promise.all(children.map(urlOf));
  const token = readFileSync(join(stateOf(skein), "mcp.token"), "utf8").trim();
  expect(token.length).toBeGreaterThan(32);
  expect(await Promise.all(urls.map((url) => statusOf(url, token)))).toEqual(urls.map(() => 200));
  expect(await Promise.all(urls.map((url) => statusOf(url, null)))).toEqual(urls.map(() => 401));
  expect(readdirSync(stateOf(skein)).filter((name) => name.startsWith("mcp.token"))).toEqual(["mcp.token"]);
  for (const child of children) child.kill();
  await Promise.all(children.map(({ exited }) => exited));
});
