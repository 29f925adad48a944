// Runs the real agents with invalid sign-ins against stand-ins for their vendors. Each uses its sign-in, reaches its vendor only
// through our proxy, and renews the sign-in in its file. A refused sign-in ends the turn as auth.
import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { installPeers, peersBin } from "../../../bench/peers.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, type TemporaryHome } from "../../support/temporary-home.ts";
import { startVendorStandIn, type VendorStandIn } from "../../support/vendor-stand-in.ts";

const agents = ["claude", "codex", "gemini"] as const;
type Agent = (typeof agents)[number];

beforeAll(() => installPeers(agents), 300_000);

const open: VendorStandIn[] = [];
afterEach(async () => {
  for (const stand of open.splice(0)) await stand.close();
});

const soon = Date.now() + 3_600_000;
const claims = {
  "https://api.openai.com/auth": { chatgpt_account_id: "acct-1", chatgpt_plan_type: "plus" },
  email: "a@example.com",
  exp: soon / 1000,
};
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const jwt = `${encoded({ alg: "RS256", typ: "JWT" })}.${encoded(claims)}.c2lnbmF0dXJl`;

const signIns: Record<Agent, { path: string; content: unknown; token: string; hosts: string[]; model: string }> = {
  claude: {
    path: ".claude/.credentials.json",
    content: { claudeAiOauth: { accessToken: "sk-ant-oat01-dummy", refreshToken: "sk-ant-ort01-dummy", expiresAt: soon } },
    token: "sk-ant-oat01-dummy",
    hosts: ["api.anthropic.com"],
    model: "claude-sonnet-4-5",
  },
  codex: {
    path: ".codex/auth.json",
    content: {
      auth_mode: "chatgpt",
      OPENAI_API_KEY: null,
      tokens: { id_token: jwt, access_token: jwt, refresh_token: "rt-dummy", account_id: "acct-1" },
      // Codex renews a sign-in of this age first.
      last_refresh: "2020-01-01T00:00:00Z",
    },
    token: "renewed",
    hosts: ["chatgpt.com", "auth.openai.com"],
    model: "gpt-5.2",
  },
  gemini: {
    path: ".gemini/oauth_creds.json",
    // Gemini CLI renews an expired sign-in first.
    content: { access_token: "ya29.dummy", refresh_token: "1//dummy", token_type: "Bearer", scope: "x", expiry_date: 1 },
    token: "renewed",
    hosts: ["cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
    model: "gemini-3-pro-preview",
  },
};

function homeOf(agent: Agent, stand: VendorStandIn): TemporaryHome {
  const skein = temporaryHome({ ...stand.env });
  skein.env["PATH"] = `${peersBin}:${skein.env["PATH"]}`;
  const file = join(skein.home, signIns[agent].path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(signIns[agent].content), { mode: 0o600 });
  writeFileSync(join(dirname(file), "other.json"), "not for it");
  return skein;
}

/** Tries to read other files of the user, and to reach another host. */
const probe = "cat ~/.claude/* ~/.codex/other.json ~/.gemini/other.json 2>/dev/null; curl -sS -m 5 https://example.com 2>&1; echo looked";

describe.each(agents)("%s", (agent) => {
  const { token, hosts, model, path } = signIns[agent];

  test("the agent works with its own sign-in, and the second turn resumes its session", async () => {
    const stand = await startVendorStandIn(shellScript(["expr 61000 + 301", probe], "All was said."), jwt);
    open.push(stand);
    using skein = homeOf(agent, stand);
    const before = statSync(join(skein.home, path)).ino;
    const first = await skein.run(["run", "-a", agent, "-m", model, "--json", "--session", "one", "look around"]);
    expect(first.json()).toMatchObject({ status: "ok", result: "All was said.", enforced: { net: "vendor" } });
    const second = await skein.run(["run", "--resume", "one", "--json", "again"]);
    expect(second.json()).toMatchObject({ status: "ok", result: "All was said." });
    for (const ran of [first, second]) expect((ran.json()["usage"] as { input: number }).input).toBeGreaterThan(1000);

    expect(new Set(stand.hosts).difference(new Set(hosts))).toEqual(new Set());
    const toModel = stand.requests.filter((request) => request.body.includes("look around"));
    expect(toModel.length).toBeGreaterThan(5);
    expect(new Set(toModel.map((request) => request.authorization))).toEqual(new Set([`Bearer ${token}`]));
    const shown = await skein.run(["show", "one", "--json"]);
    expect(shown.out).toContain("61301");
    expect(shown.out).toContain("looked");
    expect(shown.out).toMatch(/403/);
    expect(shown.out).not.toContain("not for it");
    const file = join(skein.home, path);
    expect([readFileSync(file, "utf8").includes("renewed"), statSync(file).ino]).toEqual([agent !== "claude", before]);
  }, 300_000);

  test("a refused sign-in ends the turn as auth", async () => {
    const stand = await startVendorStandIn(null);
    open.push(stand);
    using skein = homeOf(agent, stand);
    const ran = await skein.run(["run", "-a", agent, "-m", model, "--json", "look around"]);
    expect(ran.json()).toMatchObject({ status: "auth" });
    expect(new Set(stand.hosts).difference(new Set(hosts))).toEqual(new Set());
  }, 300_000);
});
