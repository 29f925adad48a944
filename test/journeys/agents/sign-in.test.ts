// Agents that use the user's own sign-in, with the real program and fake CLIs that log what they can see. A proxy in
// this file plays the vendors: it answers each connection with the name of the requested host.
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
let requestedHosts: string[];
const openSockets = new Set<Socket>();

beforeEach(async () => {
  skein = temporaryHome();
  requestedHosts = [];
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
  writeInspection({});
});

afterEach(() => {
  for (const socket of openSockets) socket.destroy();
  proxy.close();
  skein[Symbol.dispose]();
});

function answerAsHost(socket: Socket): void {
  openSockets.add(socket);
  socket.on("close", () => openSockets.delete(socket));
  socket.on("error", () => socket.destroy());
  socket.once("data", (chunk) => {
    const host = /^CONNECT (\S+):443 /.exec(chunk.toString())?.[1] ?? "nobody";
    requestedHosts.push(host);
    socket.write(`HTTP/1.1 200 fine\r\n\r\nI am ${host === "x" ? "reached" : host}\n`);
  });
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port;
}

function writeInspection(overrides: Partial<Look>): void {
  const files = [...Object.keys(signIns), ...others].map((path) => join(skein.home, path));
  const hosts = ["api.anthropic.com", "chatgpt.com", "cloudcode-pa.googleapis.com", "example.com"];
  const all: Look = { files, hosts, ports: [portOf(proxy)], renews: null, waitsFor: null, ...overrides };
  writeFileSync(join(skein.project, "look.json"), JSON.stringify(all));
}

function signIn(...paths: (keyof typeof signIns)[]): void {
  for (const path of paths) writeHomeFile(path, JSON.stringify(signIns[path]));
  for (const path of others) writeHomeFile(path, "CANARY");
}

function writeHomeFile(path: string, text: string): void {
  const file = join(skein.home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o600 });
}

function reportedSights(): Sight[] {
  const log = join(skein.project, "seen.log");
  return existsSync(log) ? lines(log).map((line) => JSON.parse(line) as Sight) : [];
}

function lines(path: string): string[] {
  return readFileSync(path, "utf8").trim().split("\n");
}

function runAgent(agent: string, ...flags: string[]): Promise<RunResult> {
  return skein.run(["run", "-a", agent, "--json", ...flags, "look around"]);
}

/** Checks that neither skein's files nor its output contain a secret. */
function expectNoLeak(ran: RunResult): void {
  const directories = [join(skein.root, "skein"), join(skein.project, ".skein")];
  const leaks = directories.flatMap((directory) => filesIn(directory).filter((path) => readFileSync(path).includes("CANARY")));
  expect([leaks, ran.out.includes("CANARY"), ran.err.includes("CANARY")]).toEqual([[], false, false]);
}

/** Lists all files. Links are not followed; modes are changed so that every file can be read. */
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

type VendorCase = { agent: string; variables: string[]; ownFile: string | null; host: string };

const vendorCases: VendorCase[] = [
  { agent: "claude", variables: ["CLAUDE_CODE_OAUTH_TOKEN"], ownFile: null, host: "api.anthropic.com" },
  { agent: "codex", variables: [], ownFile: ".codex/auth.json", host: "chatgpt.com" },
  { agent: "gemini", variables: [], ownFile: ".gemini/oauth_creds.json", host: "cloudcode-pa.googleapis.com" },
];

describe.each(["namespaces", "landlock"])("with at best the sandbox %s", (best) => {
  test.each(vendorCases)(
    "$agent can read only its own sign-in and reach only its own vendor",
    async ({ agent, variables, ownFile, host }) => {
      skein.env["SKEIN_SANDBOX_BEST"] = best;
      signIn(".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json");
      const ran = await runAgent(agent);
      expect(ran.json()).toMatchObject({ status: "ok", result: "seen", enforced: { tier: best, net: "vendor" } });
      const [sight] = reportedSights();
      expect(sight).toMatchObject({ variables, files: ownFile === null ? [] : [join(skein.home, ownFile)], argv: false });
      expect(sight?.own === null).toBe(ownFile === null);
      expect(sight?.hosts[host]).toBe(`I am ${host}`);
      for (const [otherHost, answer] of Object.entries(sight?.hosts ?? {}))
        if (otherHost !== host) expect(answer).toStartWith("HTTP/1.1 403 ");
      expect(Object.values(sight?.ports ?? {})).not.toContain("I am reached");
      expect(requestedHosts).toEqual([host]);
      expectNoLeak(ran);
    },
  );
});

test("a sign-in that a CLI renews is written to the user's own file", async () => {
  signIn(".codex/auth.json");
  writeInspection({ renews: JSON.stringify({ renewed: true }) });
  const before = lstatSync(join(skein.home, ".codex/auth.json")).ino;
  expect((await runAgent("codex")).json()).toMatchObject({ status: "ok" });
  expect(JSON.parse(readFileSync(join(skein.home, ".codex/auth.json"), "utf8"))).toEqual({ renewed: true });
  expect(lstatSync(join(skein.home, ".codex/auth.json")).ino).toBe(before);
});

test("with CODEX_HOME set only the sign-in in that directory is visible", async () => {
  signIn();
  const elsewhere = join(skein.home, "elsewhere");
  writeHomeFile("elsewhere/auth.json", JSON.stringify(signIns[".codex/auth.json"]));
  writeHomeFile("elsewhere/config.toml", "CANARY");
  skein.env["CODEX_HOME"] = elsewhere;
  writeInspection({ files: ["auth.json", "config.toml"].map((name) => join(elsewhere, name)) });
  expect((await runAgent("codex")).json()).toMatchObject({ status: "ok" });
  expect(reportedSights()).toMatchObject([{ files: [join(elsewhere, "auth.json")] }]);
});

test("with a key the CLI uses the gateway and gets no sign-in, even if an earlier turn had one", async () => {
  signIn(".codex/auth.json");
  const first = (await runAgent("codex")).json();
  skein.env["OPENAI_API_KEY"] = "sk-CANARY-8";
  const ran = await runAgent("codex", "--resume", String(first["session_id"]));
  expect(ran.json()).toMatchObject({ status: "ok", enforced: { net: "gateway" } });
  expect(reportedSights()[1]).toMatchObject({ variables: [], files: [], own: null, hosts: { "chatgpt.com": "no proxy" } });
  expectNoLeak(ran);
});

test("a key that the CLI stores is hidden from its process", async () => {
  writeHomeFile(".codex/auth.json", JSON.stringify({ OPENAI_API_KEY: "sk-CANARY-9" }));
  const ran = await runAgent("codex");
  expect(ran.json()).toMatchObject({ status: "ok", enforced: { net: "gateway" } });
  expect(reportedSights()).toMatchObject([{ variables: [], files: [], own: null }]);
  expectNoLeak(ran);
});

test("a second turn with a sign-in that can't be shared prints a notice and waits", async () => {
  signIn(".codex/auth.json");
  writeInspection({ waitsFor: join(skein.project, "go") });
  const order = join(skein.project, "order.log");
  const first = runAgent("codex");
  while (!existsSync(order)) await Bun.sleep(20);
  const second = skein.start(["run", "-a", "codex", "--json", "look around"]);
  const reader = second.stderr.getReader();
  let stderr = "";
  while (!stderr.includes("this one waits")) {
    const { value, done } = await reader.read();
    expect({ done, stderr }).toMatchObject({ done: false });
    stderr += new TextDecoder().decode(value);
  }
  expect(lines(order)).toEqual(["codex begins"]);
  writeFileSync(join(skein.project, "go"), "");
  expect((await first).json()).toMatchObject({ status: "ok" });
  expect(JSON.parse(await new Response(second.stdout).text())).toMatchObject({ status: "ok" });
  expect(lines(order)).toEqual(["codex begins", "codex ends", "codex begins", "codex ends"]);
});

test("without a sandbox that limits a CLI to its vendor the turn is refused, unless --net on allows the network", async () => {
  skein.env["SKEIN_SANDBOX_BEST"] = "none";
  signIn(".claude/.credentials.json");
  const refused = await runAgent("claude", "--sandbox", "auto");
  expect(refused.code).toBe(9);
  expect(refused.out + refused.err).toContain("--net on");
  expect(reportedSights()).toEqual([]);
  const ran = await runAgent("claude", "--sandbox", "auto", "--net", "on");
  expect(ran.json()).toMatchObject({ status: "ok", enforced: { tier: "none", net: "on" } });
  expect(reportedSights()).toMatchObject([{ variables: expect.arrayContaining(["CLAUDE_CODE_OAUTH_TOKEN"]) }]);
});

test("a turn without a usable key or sign-in fails with a hint", async () => {
  const withoutSignIn = (await runAgent("gemini")).json();
  expect(withoutSignIn).toMatchObject({ status: "auth", error: { hint: expect.stringContaining("GEMINI_API_KEY") } });
  writeHomeFile(".local/share/opencode/auth.json", JSON.stringify({ anthropic: { type: "oauth", refresh: "CANARY" } }));
  const unusable = await runAgent("opencode");
  expect(unusable.json()).toMatchObject({ status: "auth", error: { hint: expect.stringContaining("set ANTHROPIC_API_KEY") } });
  expectNoLeak(unusable);
});

test("usage is that of the turn, also if the CLI counts its whole session", async () => {
  signIn(".claude/.credentials.json", ".codex/auth.json");
  expect((await runAgent("claude")).json()).toMatchObject({ usage: { input: 2100, output: 20 }, cost_usd: 0.25 });
  const first = (await runAgent("codex", "-m", "gpt-5.2")).json();
  expect(first).toMatchObject({ usage: { input: 1000, output: 10 } });
  const second = (await runAgent("codex", "--resume", String(first["session_id"]))).json();
  expect(second).toMatchObject({ usage: { input: 500, output: 5 } });
});

test("a used-up budget ends the turn after the current message", async () => {
  signIn(".claude/.credentials.json");
  const ran = await skein.run(["run", "-a", "claude", "--json", "--max-tokens", "1000", "work for long"]);
  expect([ran.code, ran.json()["status"]]).toEqual([7, "budget"]);
  expect(ran.json()).toMatchObject({ usage: { input: 2000, output: 10 } });
});
