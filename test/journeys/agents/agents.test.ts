// `skein agents` and `skein doctor --agents`. Scripts that only pretend to be agents are run in the real sandbox and
// must be reported as what they are.
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agent, agentsReport } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { type TemporaryHome, temporaryHome } from "../../support/temporary-home.ts";

const names = ["claude", "codex", "gemini", "opencode", "pi"];

/** Replaces every agent by a small script, so that skein does not find those of this machine. */
function homeWithScripts(scripts: Record<string, string>, env: Record<string, string> = {}): TemporaryHome {
  const skein = temporaryHome(env);
  const bin = join(skein.root, "bin");
  mkdirSync(bin);
  for (const name of new Set([...names, ...Object.keys(scripts)])) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${scripts[name] ?? "exit 0"}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const temp = join(skein.root, "temp");
  mkdirSync(temp);
  Object.assign(skein.env, { PATH: `${bin}:${skein.env["PATH"]}`, TMPDIR: temp });
  return skein;
}

const trialsIn = (skein: TemporaryHome) => readdirSync(join(skein.root, "temp"));

describe("agents", () => {
  test("agents names each credential but never its value, and asks each program only once for its version", async () => {
    const count = 'echo x >> "$(dirname "$0")/asked"; echo "2.1.0 (Claude Code)"';
    using skein = homeWithScripts({ claude: count }, { ANTHROPIC_API_KEY: "sk-ant-very-secret-1" });
    const ran = await skein.run(["agents", "--json"]);
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    const rows = (JSON.parse(ran.out) as unknown[]).map((row) => agent.parse(row));
    expect(rows.map((row) => row.name)).toEqual(["native", ...names]);
    expect(rows.find((row) => row.name === "claude")).toMatchObject({
      installed: true,
      version: "2.1.0",
      path: join(skein.root, "bin", "claude"),
      credentials: [{ vendor: "anthropic", kind: "key", source: "ANTHROPIC_API_KEY", note: null }],
      missing: null,
    });
    expect(rows.find((row) => row.name === "gemini")).toMatchObject({ missing: "no key and no sign-in", version: null });
    const again = await skein.run(["agents"]);
    expect(again.out).toMatch(/^✓ {2}claude +2\.1\.0 +ANTHROPIC_API_KEY +resume, fork, effort, role +-$/m);
    expect(ran.out + again.out).not.toContain("very-secret");
    expect((await Bun.file(join(skein.root, "bin", "asked")).text()).trim()).toBe("x");
  });

  test("agents lists a preset only if its program is installed, and a turn with another one says how to install it", async () => {
    using skein = homeWithScripts({ goose: "echo goose" }, { ANTHROPIC_API_KEY: "k" });
    const rows = (JSON.parse((await skein.run(["agents", "--json"])).out) as unknown[]).map((row) => agent.parse(row));
    expect(rows.filter(({ kind }) => kind === "preset")).toMatchObject([
      { name: "goose", installed: true, path: join(skein.root, "bin", "goose"), tested_version: null, missing: null },
    ]);
    expect((await skein.run(["agents"])).out).toMatch(/^✓ {2}goose .* untried preset$/m);
    const missing = await skein.run(["run", "-a", "qwen", "hello"]);
    expect([missing.code, missing.err]).toEqual([3, expect.stringContaining("npm i -g @qwen-code/qwen-code")]);
    const mine = await skein.run(["config", "set", "agents.goose.command", join(skein.root, "bin", "goose")]);
    expect(mine.code).toBe(0);
    const replaced = JSON.parse((await skein.run(["agents", "--json"])).out) as { name: string; kind: string }[];
    expect(replaced.find(({ name }) => name === "goose")).toMatchObject({ kind: "configured" });
  });

  test("agents lists the sign-ins that agents store, and the agents of the configuration", async () => {
    using skein = homeWithScripts({}, { OPENAI_API_KEY: "" });
    mkdirSync(join(skein.home, ".codex"));
    const signIn = {
      auth_mode: "chatgpt",
      tokens: { access_token: "very-secret-2", refresh_token: "very-secret-3", id_token: "very-secret-4" },
    };
    writeFileSync(join(skein.home, ".codex", "auth.json"), JSON.stringify(signIn));
    mkdirSync(join(skein.env["SKEIN_HOME"] as string, "config"), { recursive: true });
    const mine = { command: join(skein.root, "bin", "pi"), args: ["{prompt}"] };
    const gone = { command: "no-such-agent", args: ["{prompt}"], hint: "make install" };
    writeFileSync(join(skein.env["SKEIN_HOME"] as string, "config", "config.jsonc"), JSON.stringify({ agents: { mine, gone } }));
    const ran = await skein.run(["agents", "--json"]);
    expect(ran.err).toBe("");
    const rows = (JSON.parse(ran.out) as unknown[]).map((row) => agent.parse(row));
    const agentNamed = (name: string) => rows.find((each) => each.name === name);
    expect(agentNamed("codex")).toMatchObject({
      missing: null,
      credentials: [{ vendor: "openai", kind: "sign-in", source: "~/.codex/auth.json" }],
    });
    expect(agentNamed("mine")).toMatchObject({
      kind: "configured",
      installed: true,
      can: { resume: false, fork: false, role: "prompt" },
      missing: null,
    });
    expect(agentNamed("gone")).toMatchObject({ installed: false, missing: "there is no no-such-agent", hint: "make install" });
    expect(ran.out).not.toContain("very-secret");
  });

  test("agents prints the install command of a missing agent", async () => {
    using skein = temporaryHome({ PATH: "/nowhere" });
    const { out, code } = await skein.run(["agents"]);
    expect(code).toBe(0);
    expect(out).toContain("codex: not installed; npm install -g @openai/codex\n");
    expect(await skein.run(["doctor", "--agents"])).toMatchObject({ code: 0, err: "" });
  });
});

describe("doctor --agents", () => {
  test("doctor --agents reports each kind of pretender, and its verdict is kept until the program changes", async () => {
    const resultLine = '{"type":"result","subtype":"success","is_error":false,"result":"All is done.","session_id":"x"}';
    using skein = homeWithScripts({
      claude: `echo '${resultLine}'`,
      codex: "for i in 1 2 3; do echo '%% not a line of mine'; done",
      gemini: "exit 0",
      opencode: 'echo "my own trouble, and $(env | grep -c very-secret) secrets" >&2; exit 7',
      pi: "kill -9 $$",
    });
    Object.assign(skein.env, { ANTHROPIC_API_KEY: "very-secret-5", OPENAI_API_KEY: "very-secret-6", CODEX_API_KEY: "very-secret-7" });
    const ran = await skein.run(["doctor", "--agents", "--json"]);
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 1, err: "" });
    const report = agentsReport.parse(ran.json());
    const reasons = Object.fromEntries(report.agents.map((each) => [each.agent, each.reason]));
    expect(reasons).toEqual({
      claude: "it reports success, but sent no request to the model",
      codex: "codex printed nothing that skein can read",
      gemini: expect.stringContaining("gemini ended without output"),
      opencode: "opencode: my own trouble, and 0 secrets",
      pi: expect.stringMatching(/pi was killed|pi: .*killed/i),
    });
    for (const each of report.agents) expect(each.checks.map(({ outcome }) => outcome)).toEqual(["failed", ...Array(6).fill("untried")]);
    expect({ processes: await waitForNoProcesses(skein.root), trials: trialsIn(skein) }).toEqual({ processes: [], trials: [] });
    expect(existsSync(join(skein.env["SKEIN_HOME"] as string, "data"))).toBe(false);

    const table = await skein.run(["agents"]);
    expect(table.out).toContain("codex: broken: codex printed nothing that skein can read; skein doctor --agents\n");
    writeFileSync(join(skein.root, "bin", "codex"), "#!/bin/sh\necho codex-cli 9.9.9\n");
    expect((await skein.run(["agents"])).out).not.toContain("codex: broken");
  });

  test("doctor --agents blames no agent for a proxy that intercepts requests to this machine", async () => {
    using skein = homeWithScripts({}, { HTTP_PROXY: "http://127.0.0.1:9" });
    const ran = await skein.run(["doctor", "--agents"]);
    expect({ code: ran.code, out: ran.out }).toEqual({ code: 6, out: "" });
    expect(ran.err).toMatch(/127\.0\.0\.1 can't be reached[\s\S]*NO_PROXY/);
    expect((await skein.run(["doctor", "--agents"], { env: { NO_PROXY: "127.0.0.1" } })).code).toBe(1);
  });

  test("doctor --agents ends at once when it is interrupted, and leaves no process, file or verdict", async () => {
    using skein = homeWithScripts(Object.fromEntries(names.map((name) => [name, 'case "$1" in --version) exit 1;; esac; sleep 300'])));
    const child = skein.start(["doctor", "--agents"]);
    while (trialsIn(skein).filter((name) => name.startsWith("skein-trial-")).length < names.length) await Bun.sleep(20);
    child.kill("SIGINT");
    expect({ code: await child.exited, out: await new Response(child.stdout).text() }).toEqual({ code: 130, out: "" });
    expect({ processes: await waitForNoProcesses(skein.root), trials: trialsIn(skein) }).toEqual({ processes: [], trials: [] });
    expect(existsSync(join(skein.env["SKEIN_HOME"] as string, "state", "agents.json"))).toBe(false);
  });
});
