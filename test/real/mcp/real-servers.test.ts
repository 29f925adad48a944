// MCP servers from npm as tools of the native agent: files, everything that the protocol has, and a browser. Their own rules
// allow every path and address, so only the sandbox stops them.
import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { npmTool } from "../../support/npm-tool.ts";
import { mcpCall, serverJourney } from "../../support/server-journey.ts";
import { wireModels } from "../../support/temporary-home.ts";

type Programs = { files: string[]; everything: string[]; browser: string[] };
let programs: Programs;

beforeAll(async () => {
  const version = "2026.8.31";
  const file = (name: string) => `@modelcontextprotocol/${name}/dist/index.js`;
  const install = (name: string) => npmTool(name, `@modelcontextprotocol/${name}@${version}`, file(name));
  programs = {
    files: await install("server-filesystem"),
    everything: await install("server-everything"),
    browser: await npmTool("playwright-mcp", "@playwright/mcp@0.0.83", "@playwright/mcp/cli.js"),
  };
}, 300_000);

const page = "data:text/html,<title>Page 613</title><h1>Heading 614</h1><button onclick='this.textContent=600+15'>Press</button>";

/** A browser needs unix sockets and, because their paths are short, a short temporary directory. */
function serversOf({ files, everything, browser }: Programs, temporary: string) {
  const entry = ([command, ...args]: string[], more: string[], env = {}) => ({ command, args: [...args, ...more], env });
  const flags = ["--headless", "--isolated", "--no-sandbox", "--browser", "chromium", "--executable-path", "/usr/bin/chromium"];
  return {
    files: entry(files, [".", "/"]),
    everything: entry(everything, [], { OWN: "value-612", GZIP_ALLOWED_DOMAINS: "127.0.0.1" }),
    browser: entry(browser, [...flags, "--output-dir", "shots"], { TMPDIR: temporary, XDG_CACHE_HOME: temporary }),
  };
}

async function attempt(flags: string[], temporary: string, env: Record<string, string>) {
  let requestCount = 0;
  const listener = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => (requestCount++, new Response("reached")) });
  const address = `http://127.0.0.1:${listener.port}/`;
  const calls = {
    list: mcpCall("files"),
    write: mcpCall("files", "write_file", { path: "inside.txt", content: "written" }),
    read: mcpCall("files", "read_text_file", { path: "inside.txt" }),
    writeOutside: mcpCall("files", "write_file", { path: "../home/outside.txt", content: "written" }),
    secret: mcpCall("files", "read_text_file", { path: "../home/.ssh/id_ed25519" }),
    sum: mcpCall("everything", "get-sum", { a: 600, b: 11 }),
    image: mcpCall("everything", "get-tiny-image", {}),
    environment: mcpCall("everything", "get-env", {}),
    slow: mcpCall("everything", "trigger-long-running-operation", { duration: 1, steps: 2 }),
    resources: mcpCall("everything", "resources/list"),
    prompts: mcpCall("everything", "prompts/list"),
    prompt: mcpCall("everything", "prompts/get", { name: "args-prompt", arguments: { city: "Rome" } }),
    socket: mcpCall("everything", "gzip-file-as-resource", { name: "page.gz", data: address, outputType: "resource" }),
    open: mcpCall("browser", "browser_navigate", { url: page }),
    press: mcpCall("browser", "browser_click", { element: "the button", target: "button" }),
    snapshot: mcpCall("browser", "browser_snapshot", {}),
    picture: mcpCall("browser", "browser_take_screenshot", {}),
    visit: mcpCall("browser", "browser_navigate", { url: address }),
  };
  try {
    await using journey = serverJourney(Object.values(calls), serversOf(programs, temporary), {
      ...env,
      SKEIN_UNIX_SOCKETS: "true",
    });
    const { skein } = journey;
    mkdirSync(join(skein.home, ".ssh"), { mode: 0o700 });
    writeFileSync(join(skein.home, ".ssh", "id_ed25519"), "the private key");
    const { code, err } = await skein.run(["run", "go", "-m", wireModels.anthropic, ...flags]);
    expect([code, err]).toEqual([0, expect.not.stringContaining("skein:")]);
    const texts = journey.results();
    expect(texts).toHaveLength(Object.keys(calls).length);
    const results = Object.fromEntries(Object.keys(calls).map((name, index) => [name, texts[index]!])) as Record<
      keyof typeof calls,
      string
    >;
    return { results, requestCount, hasWrittenOutside: existsSync(join(skein.home, "outside.txt")) };
  } finally {
    await listener.stop(true);
  }
}

/** Results that no sandbox changes. */
function expectUse(results: Awaited<ReturnType<typeof attempt>>["results"]): void {
  expect(results.list).toStartWith("files has 14 tools:\n");
  expect(results.read).toBe("written");
  expect(results.sum).toContain("611");
  expect(results.image).toContain("image/png");
  expect(results.image).toContain("(image)");
  expect(results.environment).toContain('"OWN": "value-612"');
  expect(results.environment).not.toContain("API_KEY");
  expect(results.slow).toContain("completed");
  expect(results.resources).toContain("demo://resource/");
  expect(results.prompts).toContain("args-prompt(city, state?)");
  expect(results.prompt).toContain("Rome");
  expect(results.open).toContain("Page 613");
  expect(results.snapshot).toContain("Heading 614");
  expect(results.snapshot).toContain("615");
  expect(results.picture).toContain("(image)");
}

test("without a sandbox the servers write outside, read ~/.ssh and open connections, which shows that the attempts work", async () => {
  const { results, requestCount, hasWrittenOutside } = await attempt(["--policy", "full", "--sandbox", "off"], "/tmp", {});
  expectUse(results);
  expect(hasWrittenOutside).toBe(true);
  expect(results.secret).toContain("the private key");
  expect(results.socket).toContain("page.gz");
  expect(requestCount).toBeGreaterThan(1);
}, 120_000);

// Tier landlock has no private /tmp, so the browser's sockets are in the project.
describe.each([
  ["namespaces", "/tmp"],
  ["landlock", "."],
])("in the sandbox of tier %s", (tier, temporary) => {
  test("the servers work, and can't write outside, read ~/.ssh or open a connection", async () => {
    const { results, requestCount, hasWrittenOutside } = await attempt(["--sandbox", "required"], temporary, { SKEIN_SANDBOX_BEST: tier });
    expectUse(results);
    expect(hasWrittenOutside).toBe(false);
    expect(results.secret).toMatch(/ENOENT|EACCES/);
    expect(results.socket).toContain("fetch failed");
    expect(results.visit).toMatch(/net::ERR_/);
    expect(requestCount).toBe(0);
  }, 120_000);
});
