// Runs the two clients of examples/hub against a real hub, and checks the defaults for a client that sends little.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { hubFile, startHub, connectToHub } from "../support/hub-client.ts";
import { temporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";

const server = startModelServer({ steps: [], final: "Hello from the hub." });
const skein = temporaryHome({ ...vendorEnv(server.url), SKEIN_MODEL: wireModels.anthropic });
const hub = await startHub(skein);

afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await server.stop();
  skein[Symbol.dispose]();
});

const examples = join(import.meta.dir, "..", "..", "examples", "hub");

const clients: [string, string[]][] = [
  ["TypeScript, over the WebSocket", [process.execPath, join(examples, "client.ts")]],
  ["Python, over the unix socket", ["python3", join(examples, "client.py")]],
];

test.each(clients)("the client in %s lists the sessions and prints the text of a turn", async (_title, argv) => {
  if (Bun.which(argv[0]!) === null) throw new Error(`${argv[0]} is missing: install it, this client must really run`);
  const earlier = await skein.run(["new", `before ${argv[1]!.slice(-2)}`]);
  expect(earlier.code).toBe(0);
  const child = Bun.spawn([...argv, hubFile(skein), skein.project, "greet me"], {
    env: skein.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  expect({ err, code }).toEqual({ err: "", code: 0 });
  expect(out).toMatch(new RegExp(`^[0-9a-f-]{36} before ${argv[1]!.slice(-2)}$`, "m"));
  expect(out).toEndWith("Hello from the hub.");
  expect(server.main().at(-1)!.text).toContain("greet me");
});

test("a turn uses the configuration of its directory for every parameter that the client leaves out", async () => {
  mkdirSync(join(skein.project, ".skein"), { recursive: true });
  writeFileSync(join(skein.project, ".skein", "config.jsonc"), '{ "policy": "readonly", "max_steps": 7 }');
  const startedPolicy = async (directory: string, params: object) => {
    const connection = await connectToHub("unix", hub, { protocol: 1, client: "smoke", directory });
    const { result } = await connection.ask("session.open", { directory });
    const session = (result as { id: string }).id;
    const { items } = await connection.follow("turn.start", { session, prompt: "greet me", ...params });
    connection.close();
    return (items.find(({ type }) => type === "turn.started")?.["turn"] as { policy: unknown } | undefined)?.policy;
  };
  expect(await startedPolicy(skein.project, {})).toMatchObject({ name: "readonly", sandbox: "required" });
  expect(await startedPolicy(skein.project, { policy: { name: "workspace" } })).toMatchObject({ name: "workspace", sandbox: "auto" });
  expect(await startedPolicy(skein.home, {})).toMatchObject({ name: "workspace", sandbox: "auto" });
});
