// Runs fake CLIs that print all they can read (variables, files and processes) as noise, as an error and as their answer.
// The output must contain the throw-away token of the gateway, and no key of the user.
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { keyFiles, keyVariables, secret, withCanaries } from "../support/canaries.ts";
import { type FakeCliHome, homeWithFakeClis } from "../support/fake-clis.ts";

const agents = ["claude", "codex", "gemini", "opencode", "pi"] as const;

/** The gateway gives this token to a CLI instead of a key. */
const token = /sk-skein-[0-9a-f]{48}/;

/** Keys in the config. The other CLIs have a key in their own file. */
const inConfig: Record<string, Record<string, unknown>> = {
  claude: { anthropic: { api_key: secret("config anthropic") } },
  gemini: { gemini: { api_key: secret("config gemini") } },
};

async function runFake(skein: FakeCliHome, agent: string, behaviour: string) {
  const ran = await skein.run(["run", `look fake:${behaviour}`, "-a", agent, "--output-format", "json"]);
  const logs = readdirSync(skein.root, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(`.${agent}.stdout.log`) || path.endsWith(`.${agent}.stderr.log`))
    .map((path) => readFileSync(join(skein.root, path), "utf8"))
    .join("\n");
  return { code: ran.code, result: ran.json() as { status: string; result: string; enforced: { tier: string } }, logs };
}

test("a fake without a sandbox prints every key, and the search finds a printed key", async () => {
  using skein = withCanaries(homeWithFakeClis(["claude"]));
  const child = Bun.spawn(["claude", "fake:echoes"], { cwd: skein.project, env: skein.env, stdout: "pipe", stderr: "ignore" });
  const output = await new Response(child.stdout).text();
  const keys = [...keyVariables, ...keyFiles, "acme"].map(secret);
  expect(keys.filter((key) => !output.includes(key))).toEqual([]);
  expect(await skein.leaks()).toEqual([]);
  const cutLog = join(skein.project, "output", "cut.log");
  await Bun.write(cutLog, output.slice(0, output.indexOf("-lips-") + 20));
  expect(await skein.leaks()).toContain(cutLog);
});

describe.each(agents)("%s", (agent) => {
  test("a fake that prints all it can read prints no key", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const { code, result, logs } = await runFake(skein, agent, "echoes");
    expect({ code, status: result.status }).toEqual({ code: 0, status: "ok" });
    // The fake did read, and its output is in the logs and in its answer.
    for (const text of [logs, result.result]) for (const word of ["PATH", "/proc/", "fake.log: "]) expect(text).toContain(word);
    expect(logs).toMatch(token);
    expect(await skein.leaks()).toEqual([]);
  });

  test("a fake that fails prints no key", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const { code, result, logs } = await runFake(skein, agent, "echoes-fails");
    expect([code, result.status]).not.toEqual([0, "ok"]);
    expect(logs).toContain("PATH");
    expect(await skein.leaks()).toEqual([]);
  });

  test("a fake prints no key that is only in a file", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]), inConfig[agent]);
    for (const name of keyVariables) delete skein.env[name];
    const { code, result, logs } = await runFake(skein, agent, "echoes");
    expect({ code, status: result.status }).toEqual({ code: 0, status: "ok" });
    expect(logs).toMatch(token);
    expect(await skein.leaks()).toEqual([]);
  });

  test("a fake prints no key if Landlock is the only sandbox", async () => {
    using skein = withCanaries(homeWithFakeClis([agent], { SKEIN_SANDBOX_BEST: "landlock" }));
    const { result, logs } = await runFake(skein, agent, "echoes");
    expect([result.status, result.enforced.tier]).toEqual(["ok", "landlock"]);
    expect(logs).toContain("PATH");
    expect(await skein.leaks()).toEqual([]);
  });
});
