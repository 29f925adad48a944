// Uses recognisable keys for every credential, in runs that succeed, fail and are killed. Afterwards no file, argument list,
// stream or request body may contain a key. Only the user's own config file may.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { environmentVariables } from "../../src/config/env.ts";
import { vendors } from "../../src/models/vendors.ts";
import { startModelServer, type ModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript, type ServerFault } from "../../src/scripted-model/script.ts";
import { watchArguments } from "../support/argument-lists.ts";
import { temporaryHome, vendorEnv, wireModels, type RunResult, type TemporaryHome } from "../support/temporary-home.ts";

const variables = [
  ...new Set([
    ...environmentVariables.filter((row) => row.group === "keys").map((row) => row.name),
    ...vendors.flatMap((vendor) => vendor.keyVariables.map((row) => row.name)),
  ]),
];
const fromEnvironment = Object.fromEntries(
  variables.map((name) => [name, `loose-lips-${name.toLowerCase().replaceAll("_", "-")}-sink-ships`]),
);
const inConfig = {
  acme: "loose-lips-acme-file-sink-ships",
  header: "loose-lips-acme-header-sink-ships",
  named: "loose-lips-named-variable-sink-ships",
};
const keyPattern = /loose-lips|sink-ships/;

const leakCommands = [
  "env",
  "printenv",
  "cat /proc/self/environ",
  "cat /proc/$PPID/environ",
  "set",
  "export -p",
  "printenv ANTHROPIC_API_KEY; true",
  "tr '\\0' '\\n' < /proc/$$/environ",
];
const models = { ...wireModels, "a vendor of the config": "acme/one", "a named variable": "named/one" };

let server: ModelServer;
let skein: TemporaryHome;
const printed: string[] = [];
let watch: ReturnType<typeof watchArguments>;

beforeAll(() => {
  server = startModelServer({ steps: [], final: "nothing to see" });
  skein = temporaryHome({ ...vendorEnv(server.url), ...fromEnvironment, ACME_TOKEN: inConfig.named });
  const config = join(skein.env["SKEIN_HOME"] as string, "config");
  mkdirSync(config, { recursive: true });
  const acme = { base_url: `${server.url}/v1`, api_key: inConfig.acme, wire: "openai-chat", headers: { "x-tenant": inConfig.header } };
  const named = { base_url: `${server.url}/v1`, api_key: "$ACME_TOKEN", wire: "openai-chat" };
  writeFileSync(join(config, "config.jsonc"), JSON.stringify({ providers: { acme, named } }));
  watch = watchArguments();
});

afterAll(async () => {
  await watch.stop();
  await server.stop();
  skein[Symbol.dispose]();
});

async function run(args: string[], env: Record<string, string> = {}): Promise<RunResult> {
  const ran = await skein.run(args, { env });
  printed.push(ran.out, ran.err);
  return ran;
}

/** Returns all sent headers and paths. They must contain the keys, or the test would prove nothing. */
function sentKeys(): string {
  return server.requests.map((request) => Object.values(request.headers).join(" ") + request.path).join("\n");
}

describe("runs with every key", () => {
  test.each(Object.entries(models))("over %s, tools that print their environment print no key", async (_title, model) => {
    server.setScript(shellScript(leakCommands, "nothing to see"));
    server.setFault(null);
    const ran = await run(["run", "look around", "-m", model, "--output-format", "events"]);
    expect(ran.code).toBe(0);
    expect(ran.out).toContain("PATH=");
    expect(sentKeys()).toMatch(keyPattern);
  });

  test.each(Object.entries(models))("over %s, a key that the server echoes in an error is not printed", async (_title, model) => {
    server.setScript({ steps: [], final: "a long answer that will never be whole" });
    const echo = `${credentialsOf(model).join(" and ")}, Bearer ${credentialsOf(model)[0]}`;
    const faults: ServerFault[] = [
      { type: "status", status: 401, message: `the key is wrong: ${echo}` },
      { type: "status", status: 500, retryAfter: "0", message: `failed for ${echo}` },
      { type: "error-event", message: `in the middle of ${echo}` },
    ];
    for (const fault of faults) {
      server.setFault(fault);
      for (const format of ["events", "text"]) {
        const ran = await run(["run", "ask", "-m", model, "--output-format", format]);
        expect(ran.code).not.toBe(0);
        expect(ran.out + ran.err).toContain("[key]");
      }
    }
    server.setFault(null);
  });

  test("a run that is killed can be continued", async () => {
    server.setScript(shellScript(["env; cat /proc/self/environ; sleep 30"]));
    const child = skein.start(["run", "wait", "-m", wireModels.anthropic, "--output-format", "events"]);
    let out = "";
    for await (const chunk of child.stdout) {
      out += new TextDecoder().decode(chunk);
      if (out.includes("tool.output")) break;
    }
    child.kill("SIGKILL");
    await child.exited;
    printed.push(out, await new Response(child.stderr).text());
    server.setScript(shellScript([], "went on"));
    expect((await run(["run", "--continue", "go on", "--json"])).code).toBe(0);
  });

  test("commands about keys print the source of a key, but not the key", async () => {
    for (const args of [
      ["auth", "status"],
      ["auth", "status", "--json"],
      ["doctor"],
      ["models"],
      ["config"],
      ["config", "--json"],
      ["config", "get", "providers.acme.api_key"],
      ["verify"],
    ])
      await run(args);
    expect(printed.join("")).toContain("ANTHROPIC_API_KEY");
    expect(printed.join("")).toContain("providers.acme.api_key");
  });

  test("an error about a broken config does not print a key of the config", async () => {
    const home = join(skein.root, "broken");
    mkdirSync(join(home, "config"), { recursive: true });
    const texts = [
      `{ "providers": { "acme": { "api_key": "${inConfig.acme}" "oops" } } }`,
      `{ "providers": { "acme": { "api_key": ["${inConfig.acme}"] } } }`,
      `{ "providers": { "acme": { "api_kye": "${inConfig.acme}" } } }`,
      `{ "providers": { "acme": { "headers": { "x": { "y": "${inConfig.header}" } } } } }`,
      `{ "providers": { "acme": { "headers": "${inConfig.header}" } } }`,
    ];
    for (const text of texts) {
      writeFileSync(join(home, "config", "config.jsonc"), text);
      expect((await run(["run", "x", "-m", "acme/one"], { SKEIN_HOME: home, SKEIN_DEBUG: "1" })).code).toBe(3);
    }
    writeFileSync(join(home, "config", "config.jsonc"), "{}");
  });

  test("an error about an invalid base URL does not print its password", async () => {
    expect(
      (
        await run(["run", "x", "-m", wireModels.anthropic], {
          ANTHROPIC_BASE_URL: `ftp://user:${inConfig.acme}@host/?key=${inConfig.acme}`,
        })
      ).code,
    ).toBe(3);
  });
});

/** Returns the credentials that a server gets and could echo. */
function credentialsOf(model: string): string[] {
  const vendor = model.split("/", 1)[0] as string;
  if (vendor === "acme") return [inConfig.acme, inConfig.header];
  if (vendor === "named") return [inConfig.named];
  return [fromEnvironment[vendors.find((row) => row.name === vendor)?.keyVariables[0]?.name as string] as string];
}

describe("afterwards", () => {
  test("no stream of the runs contained a key", () => {
    expect(printed.length).toBeGreaterThan(50);
    expect(printed.filter((text) => keyPattern.test(text)).map(excerptAround)).toEqual([]);
  });

  test("no argument list of a process contained a key", () => {
    expect(watch.lists().some((list) => list.includes("__executor"))).toBe(true);
    expect(watch.lists().filter((list) => keyPattern.test(list))).toEqual([]);
  });

  test("no request body contained a key", () => {
    expect(server.requests.filter((request) => keyPattern.test(request.text)).map((request) => excerptAround(request.text))).toEqual([]);
  });

  test("no file except the user's config contains a key", () => {
    // The killed run left directories that only root could open.
    Bun.spawnSync(["chmod", "-R", "u+rwX", skein.root]);
    const files = readdirSync(skein.root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    // Empty files have no key. One that covers secrets can't be read by its owner either.
    const paths = files.map((entry) => join(entry.parentPath, entry.name)).filter((path) => statSync(path).size > 0);
    const texts = paths.map((path) => ({ path, text: readFileSync(path, "latin1") }));
    expect(texts.some(({ path }) => path.endsWith("skein.db"))).toBe(true);
    expect(texts.some(({ path }) => path.endsWith(".jsonl"))).toBe(true);
    const userConfig = join(skein.env["SKEIN_HOME"] as string, "config", "config.jsonc");
    expect(
      texts
        .filter(({ path, text }) => path !== userConfig && keyPattern.test(text))
        .map(({ path, text }) => `${path}: ${excerptAround(text)}`),
    ).toEqual([]);
  });
});

function excerptAround(text: string): string {
  const start = text.search(keyPattern);
  return text.slice(Math.max(0, start - 80), start + 60);
}
