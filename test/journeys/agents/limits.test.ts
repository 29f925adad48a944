// Limits of vendors on the command line: what is known of them, a hand-over of the native agent, and wrong choices.
import { expect, test } from "bun:test";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const day = 86_400_000;

/** The vendor of Anthropic's wire is used up; the others answer. */
function startLimitedServer(resetAt: number) {
  const headers = {
    "anthropic-ratelimit-unified-5h-status": "rejected",
    "anthropic-ratelimit-unified-5h-utilization": "1",
    "anthropic-ratelimit-unified-5h-reset": String(Math.floor(resetAt / 1000)),
  };
  const refuse = async (_request: Request, path: string): Promise<Response | null> => {
    if (!path.endsWith("/messages")) return null;
    return Response.json({ type: "error", error: { type: "rate_limit_error", message: "used up" } }, { status: 429, headers });
  };
  return startModelServer(shellScript(["echo second"], "answered by the second"), { route: refuse });
}

type Limit = { source: string; credential: string | null; windows: { name: string; is_used_up: boolean; reset_at: string | null }[] };

test("a model of another vendor continues at a limit, and usage --limits shows the limit without the key", async () => {
  const resetAt = Date.now() + day;
  const server = startLimitedServer(resetAt);
  const env = vendorEnv(server.url);
  using skein = temporaryHome(env);
  try {
    const limited = ["run", "do it", "-m", wireModels.anthropic, "--session", "s"];
    const ran = await skein.run([...limited, "--at-limit", wireModels["openai-chat"], "--json"]);
    expect({ code: ran.code, result: (ran.json() as { result: string }).result }).toEqual({ code: 0, result: "answered by the second" });

    const shown = await skein.run(["usage", "--limits", "--json"]);
    const limits = shown.json() as unknown as Limit[];
    const vendor = limits.find(({ source }) => source === "anthropic");
    expect(vendor?.credential).toMatch(/^[0-9a-f]{8}$/);
    expect(vendor?.windows).toMatchObject([{ name: "5h", is_used_up: true, used: 1 }]);
    expect(Date.parse(vendor?.windows[0]?.reset_at ?? "")).toBe(Math.floor(resetAt / 1000) * 1000);
    expect(limits.some(({ source }) => source === "native anthropic")).toBe(true);
    for (const key of Object.values(env).filter((value) => !value.startsWith("http"))) expect(shown.out).not.toContain(key);

    const table = await skein.run(["usage", "--limits"]);
    expect(table.out).toMatch(/anthropic +[0-9a-f]{8} +5h +used up/);
  } finally {
    await server.stop();
  }
});

test("without a known limit usage --limits says so", async () => {
  using skein = temporaryHome({});
  const { code, out } = await skein.run(["usage", "--limits"]);
  expect({ code, out }).toEqual({ code: 0, out: "no limit is known: vendors report limits with their answers\n" });
});

test.each([
  [["--at-limit", "wait,codex"], 2, /--at-limit takes stop, wait, or agents/],
  [["--fallback", "nobody-knows-me"], 3, /nobody-knows-me/],
  [["--wait-at-most", "soon"], 2, /--wait-at-most takes seconds/],
])("a wrong choice %p is refused before the turn", async (flags, exitCode, message) => {
  using skein = temporaryHome({});
  const { code, err } = await skein.run(["run", "do it", "-m", wireModels.anthropic, ...flags], { env: { ANTHROPIC_API_KEY: "sk-x" } });
  expect(code).toBe(exitCode);
  expect(err).toMatch(message);
});
