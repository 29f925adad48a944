// Fakes that tell all they can see, their variables, every file and every process, as noise, as an error and as their
// answer: the throw-away token of the gateway is among it, and no key of the person.
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { keyFiles, keyVariables, secret, withCanaries } from "../support/canaries.ts";
import { type FakeCliHome, homeWithFakeClis } from "../support/fake-clis.ts";

const agents = ["claude", "codex", "gemini", "opencode", "pi"] as const;

/** What the gateway gives a child in place of a key. */
const token = /sk-skein-[0-9a-f]{48}/;

/** Where the key lies that is not in a variable: the config, or the CLI's own file. */
const inConfig: Record<string, Record<string, unknown>> = {
  claude: { anthropic: { api_key: secret("config anthropic") } },
  gemini: { gemini: { api_key: secret("config gemini") } },
};

async function echo(skein: FakeCliHome, agent: string, word: string) {
  const ran = await skein.run(["run", `look fake:${word}`, "-a", agent, "--output-format", "json"]);
  const logs = readdirSync(skein.root, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(`.${agent}.stdout.log`) || path.endsWith(`.${agent}.stderr.log`))
    .map((path) => readFileSync(join(skein.root, path), "utf8"))
    .join("\n");
  return { code: ran.code, result: ran.json() as { status: string; result: string; enforced: { tier: string } }, logs };
}

test("a fake that stands behind no walls tells every key, and the search finds what it told", async () => {
  using skein = withCanaries(homeWithFakeClis(["claude"]));
  const child = Bun.spawn(["claude", "fake:echoes"], { cwd: skein.project, env: skein.env, stdout: "pipe", stderr: "ignore" });
  const said = await new Response(child.stdout).text();
  const keys = [...keyVariables, ...keyFiles, "acme"].map(secret);
  expect(keys.filter((key) => !said.includes(key))).toEqual([]);
  expect(await skein.leaks()).toEqual([]);
  const told = join(skein.project, "told", "cut.log");
  await Bun.write(told, said.slice(0, said.indexOf("-lips-") + 20));
  expect(await skein.leaks()).toContain(told);
});

describe.each(agents)("%s", (agent) => {
  test("tells no key though it tells all that it sees", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const { code, result, logs } = await echo(skein, agent, "echoes");
    expect({ code, status: result.status }).toEqual({ code: 0, status: "ok" });
    // It did look, and what it saw is in the logs and in its answer.
    for (const text of [logs, result.result]) for (const word of ["PATH", "/proc/", "fake.log: "]) expect(text).toContain(word);
    expect(logs).toMatch(token);
    expect(await skein.leaks()).toEqual([]);
  });

  test("tells no key when it fails", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const { code, result, logs } = await echo(skein, agent, "echoes-fails");
    expect([code, result.status]).not.toEqual([0, "ok"]);
    expect(logs).toContain("PATH");
    expect(await skein.leaks()).toEqual([]);
  });

  test("tells no key that lies in a file alone", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]), inConfig[agent]);
    for (const name of keyVariables) delete skein.env[name];
    const { code, result, logs } = await echo(skein, agent, "echoes");
    expect({ code, status: result.status }).toEqual({ code: 0, status: "ok" });
    expect(logs).toMatch(token);
    expect(await skein.leaks()).toEqual([]);
  });

  test("tells no key where Landlock is all there is", async () => {
    using skein = withCanaries(homeWithFakeClis([agent], { SKEIN_SANDBOX_BEST: "landlock" }));
    const { result, logs } = await echo(skein, agent, "echoes");
    expect([result.status, result.enforced.tier]).toEqual(["ok", "landlock"]);
    expect(logs).toContain("PATH");
    expect(await skein.leaks()).toEqual([]);
  });
});
