// Agents that use the person's own sign-in, with the real program and CLIs that write down what they see. The vendors
// are a proxy of the person's own, which the walk plays: whoever gets through to it names the host that it asked for.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import type { Look, Sight } from "../../fixtures/bin/inspect-cli.ts";
import { type RunResult, temporaryHome, type TemporaryHome } from "../../support/temporary-home.ts";

const signIns = {
  ".claude/.credentials.json": {
    claudeAiOauth: { accessToken: "oat-CANARY-1", refreshToken: "ort-CANARY-2", expiresAt: Date.now() + 3_600_000 },
  },
  ".codex/auth.json": { auth_mode: "chatgpt", OPENAI_API_KEY: null, tokens: { access_token: "CANARY-3", refresh_token: "CANARY-4" } },
  ".gemini/oauth_creds.json": { access_token: "CANARY-5", refresh_token: "CANARY-6" },
};
const others = [".codex/config.toml", ".claude/settings.json", ".ssh/id_ed25519", ".local/share/opencode/auth.json"];

let skein: TemporaryHome;
let proxy: Server;
let asked: string[];
const open = new Set<Socket>();

beforeEach(async () => {
  skein = temporaryHome();
  asked = [];
  proxy = createServer((socket) => answerAsHost(socket));
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const bin = join(skein.root, "bin");
  mkdirSync(bin);
  for (const name of ["claude", "codex", "gemini", "opencode"])
    symlinkSync(join(import.meta.dir, "..", "..", "fixtures", "bin", "inspect"), join(bin, name));
  Object.assign(skein.env, {
    PATH: [bin, dirname(process.execPath), skein.env["PATH"]].join(":"),
    HTTPS_PROXY: `http://me:CANARY-7@127.0.0.1:${portOf(proxy)}`,
  });
  look({});
});

afterEach(() => {
  for (const socket of open) socket.destroy();
  proxy.close();
  skein[Symbol.dispose]();
});

function answerAsHost(socket: Socket): void {
  open.add(socket);
  socket.on("close", () => open.delete(socket));
  socket.on("error", () => socket.destroy());
  socket.once("data", (chunk) => {
    const host = /^CONNECT (\S+):443 /.exec(chunk.toString())?.[1] ?? "nobody";
    asked.push(host);
    socket.write(`HTTP/1.1 200 fine\r\n\r\nI am ${host === "x" ? "reached" : host}\n`);
  });
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port;
}

function look(more: Partial<Look>): void {
  const files = [...Object.keys(signIns), ...others].map((path) => join(skein.home, path));
  const hosts = ["api.anthropic.com", "chatgpt.com", "cloudcode-pa.googleapis.com", "example.com"];
  const all: Look = { files, hosts, ports: [portOf(proxy)], renews: null, waitsFor: null, ...more };
  writeFileSync(join(skein.project, "look.json"), JSON.stringify(all));
}

function signIn(...paths: (keyof typeof signIns)[]): void {
  for (const path of paths) put(path, JSON.stringify(signIns[path]));
  for (const path of others) put(path, "CANARY");
}

function put(path: string, text: string): void {
  const whole = join(skein.home, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, text, { mode: 0o600 });
}

function seen(): Sight[] {
  const log = join(skein.project, "seen.log");
  return existsSync(log) ? lines(log).map((line) => JSON.parse(line) as Sight) : [];
}

function lines(path: string): string[] {
  return readFileSync(path, "utf8").trim().split("\n");
}

function take(agent: string, ...more: string[]): Promise<RunResult> {
  return skein.run(["run", "-a", agent, "--json", ...more, "look around"]);
}

/** Nothing that skein keeps or says holds a secret. */
function expectNoLeak(ran: RunResult): void {
  const places = [join(skein.root, "skein"), join(skein.project, ".skein")];
  const holding = places.flatMap((place) => filesIn(place).filter((path) => readFileSync(path).includes("CANARY")));
  expect([holding, ran.out.includes("CANARY"), ran.err.includes("CANARY")]).toEqual([[], false, false]);
}

/** Links are not followed, and what can't be opened is opened. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  chmodSync(folder, 0o700);
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const stat = lstatSync(path);
    if (stat.isFile()) chmodSync(path, 0o600);
    return stat.isDirectory() ? filesIn(path) : stat.isFile() ? [path] : [];
  });
}

type Row = { agent: string; variables: string[]; own: string | null; host: string };

const rows: Row[] = [
  { agent: "claude", variables: ["CLAUDE_CODE_OAUTH_TOKEN"], own: null, host: "api.anthropic.com" },
  { agent: "codex", variables: [], own: ".codex/auth.json", host: "chatgpt.com" },
  { agent: "gemini", variables: [], own: ".gemini/oauth_creds.json", host: "cloudcode-pa.googleapis.com" },
];

describe.each(["namespaces", "landlock"])("under the best walls up to %s", (best) => {
  test.each(rows)(
    "$agent holds its own sign-in and nothing else, and reaches its vendor alone",
    async ({ agent, variables, own, host }) => {
      skein.env["SKEIN_SANDBOX_BEST"] = best;
      signIn(".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json");
      const ran = await take(agent);
      expect(ran.json()).toMatchObject({ status: "ok", result: "seen", enforced: { tier: best, net: "vendor" } });
      const [sight] = seen();
      expect(sight).toMatchObject({ variables, files: own === null ? [] : [join(skein.home, own)], argv: false });
      expect(sight?.own === null).toBe(own === null);
      expect(sight?.hosts[host]).toBe(`I am ${host}`);
      for (const [other, said] of Object.entries(sight?.hosts ?? {})) if (other !== host) expect(said).toStartWith("HTTP/1.1 403 ");
      expect(Object.values(sight?.ports ?? {})).not.toContain("I am reached");
      expect(asked).toEqual([host]);
      expectNoLeak(ran);
    },
  );
});

test("what a CLI renews is in the person's own file", async () => {
  signIn(".codex/auth.json");
  look({ renews: JSON.stringify({ renewed: true }) });
  const before = lstatSync(join(skein.home, ".codex/auth.json")).ino;
  expect((await take("codex")).json()).toMatchObject({ status: "ok" });
  expect(JSON.parse(readFileSync(join(skein.home, ".codex/auth.json"), "utf8"))).toEqual({ renewed: true });
  expect(lstatSync(join(skein.home, ".codex/auth.json")).ino).toBe(before);
});

test("where a variable has put it elsewhere the rest of that directory stays hidden", async () => {
  signIn();
  const elsewhere = join(skein.home, "elsewhere");
  put("elsewhere/auth.json", JSON.stringify(signIns[".codex/auth.json"]));
  put("elsewhere/config.toml", "CANARY");
  skein.env["CODEX_HOME"] = elsewhere;
  look({ files: ["auth.json", "config.toml"].map((name) => join(elsewhere, name)) });
  expect((await take("codex")).json()).toMatchObject({ status: "ok" });
  expect(seen()).toMatchObject([{ files: [join(elsewhere, "auth.json")] }]);
});

test("with a key the child goes through the gateway and holds no sign-in, also where an earlier turn had one", async () => {
  signIn(".codex/auth.json");
  const first = (await take("codex")).json();
  skein.env["OPENAI_API_KEY"] = "sk-CANARY-8";
  const ran = await take("codex", "--resume", String(first["session_id"]));
  expect(ran.json()).toMatchObject({ status: "ok", enforced: { net: "gateway" } });
  expect(seen()[1]).toMatchObject({ variables: [], files: [], own: null, hosts: { "chatgpt.com": "no proxy" } });
  expectNoLeak(ran);
});

test("a key that the CLI keeps stays out of the child", async () => {
  put(".codex/auth.json", JSON.stringify({ OPENAI_API_KEY: "sk-CANARY-9" }));
  const ran = await take("codex");
  expect(ran.json()).toMatchObject({ status: "ok", enforced: { net: "gateway" } });
  expect(seen()).toMatchObject([{ variables: [], files: [], own: null }]);
  expectNoLeak(ran);
});

test("two turns with a sign-in that can't be shared: the second says so and waits", async () => {
  signIn(".codex/auth.json");
  look({ waitsFor: join(skein.project, "go") });
  const order = join(skein.project, "order.log");
  const first = take("codex");
  while (!existsSync(order)) await Bun.sleep(20);
  const second = skein.start(["run", "-a", "codex", "--json", "look around"]);
  const reader = second.stderr.getReader();
  let told = "";
  while (!told.includes("this one waits")) {
    const { value, done } = await reader.read();
    expect({ done, told }).toMatchObject({ done: false });
    told += new TextDecoder().decode(value);
  }
  expect(lines(order)).toEqual(["codex begins"]);
  writeFileSync(join(skein.project, "go"), "");
  expect((await first).json()).toMatchObject({ status: "ok" });
  expect(JSON.parse(await new Response(second.stdout).text())).toMatchObject({ status: "ok" });
  expect(lines(order)).toEqual(["codex begins", "codex ends", "codex begins", "codex ends"]);
});

test("where nothing can hold it to its vendor the turn is refused, unless the network is allowed", async () => {
  skein.env["SKEIN_SANDBOX_BEST"] = "none";
  signIn(".claude/.credentials.json");
  const refused = await take("claude", "--sandbox", "auto");
  expect(refused.code).toBe(9);
  expect(refused.out + refused.err).toContain("--net on");
  expect(seen()).toEqual([]);
  const ran = await take("claude", "--sandbox", "auto", "--net", "on");
  expect(ran.json()).toMatchObject({ status: "ok", enforced: { tier: "none", net: "on" } });
  expect(seen()).toMatchObject([{ variables: expect.arrayContaining(["CLAUDE_CODE_OAUTH_TOKEN"]) }]);
});

test("without a key and a sign-in, and with one that can't be used, the turn says what to do", async () => {
  const none = (await take("gemini")).json();
  expect(none).toMatchObject({ status: "auth", error: { hint: expect.stringContaining("GEMINI_API_KEY") } });
  put(".local/share/opencode/auth.json", JSON.stringify({ anthropic: { type: "oauth", refresh: "CANARY" } }));
  const unusable = await take("opencode");
  expect(unusable.json()).toMatchObject({ status: "auth", error: { hint: expect.stringContaining("set ANTHROPIC_API_KEY") } });
  expectNoLeak(unusable);
});

test("usage is what the CLI says of itself: a turn's own, also where it counts its whole session", async () => {
  signIn(".claude/.credentials.json", ".codex/auth.json");
  expect((await take("claude")).json()).toMatchObject({ usage: { input: 2100, output: 20 }, cost_usd: 0.25 });
  const first = (await take("codex", "-m", "gpt-5.2")).json();
  expect(first).toMatchObject({ usage: { input: 1000, output: 10 } });
  const second = (await take("codex", "--resume", String(first["session_id"]))).json();
  expect(second).toMatchObject({ usage: { input: 500, output: 5 } });
});

test("a budget ends the turn after the message that used it up", async () => {
  signIn(".claude/.credentials.json");
  const ran = await skein.run(["run", "-a", "claude", "--json", "--max-tokens", "1000", "work for long"]);
  expect([ran.code, ran.json()["status"]]).toEqual([7, "budget"]);
  expect(ran.json()).toMatchObject({ usage: { input: 2000, output: 10 } });
});
