// Tests a `postgres` handle with a real server: the answer of a read-only query is stored, and a query can't write.
// Needs Debian's postgresql, so .ci/run runs it and npm test does not.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const root = mkdtempSync(join(tmpdir(), "skein-postgres-"));
const isRoot = process.getuid?.() === 0;
let database: Bun.Subprocess | undefined;
let model: ModelServer;
let connection: Record<string, string>;

beforeAll(async () => {
  if (isRoot) chownSync(root, idOf("u"), idOf("g"));
  chmodSync(root, 0o755);
  await expectSuccess(asPostgres([program("initdb"), "-D", join(root, "data"), "-A", "trust", "-U", "tester"]));
  // Another process may take a port that was free a moment ago. The server then ends at once and gets another port.
  const deadline = performance.now() + 60_000;
  do {
    if (performance.now() > deadline) throw new Error("the server did not start");
    if (database === undefined || database.exitCode !== null) startOn(await freePort());
    await Bun.sleep(100);
  } while ((await psql("select 1")) !== 0);
  await psql("create table birds (name text); insert into birds values ('heron'), ('kite')");
  model = startModelServer({ steps: [], final: "seen" });
});

afterAll(async () => {
  await model.stop();
  database?.kill("SIGINT");
  await database?.exited;
  rmSync(root, { recursive: true, force: true });
});

test("the answer of a query is stored and sent unchanged, and a query that writes is refused", async () => {
  using skein = temporaryHome({ ...vendorEnv(model.url), ...connection });
  await skein.run(["config", "set", "tool_env", JSON.stringify(Object.keys(connection))]);
  await skein.run(["run", "hello", "--session", "main", "-m", wireModels.anthropic]);
  const added = await skein.run(["add", "main", "--postgres", "select name from birds order by name", "--net", "on", "--json"]);
  expect(added.json()).toMatchObject({ parts: [{ kind: "handle", handle: { source: "postgres" } }] });
  await psql("delete from birds");
  await skein.run(["run", "which birds?", "--session", "main"]);
  expect(JSON.stringify(model.main().at(-1)?.body)).toContain("heron");
  const writing = await skein.run(["add", "main", "--postgres", "insert into birds values ('crow')", "--net", "on"]);
  expect(writing).toMatchObject({ code: 1, err: expect.stringContaining("read-only") });
  expect((await skein.run(["verify"])).code).toBe(0);
});

function startOn(port: number): void {
  database = asPostgres([program("postgres"), "-D", join(root, "data"), "-k", root, "-h", "127.0.0.1", "-p", String(port)]);
  connection = { PGHOST: "127.0.0.1", PGPORT: String(port), PGUSER: "tester", PGDATABASE: "postgres" };
}

/** The server refuses to run as root. */
function asPostgres(command: string[]): Bun.Subprocess {
  const user = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];
  return Bun.spawn([...user, ...command], { cwd: root, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
}

function program(name: string): string {
  const [path] = [...new Bun.Glob(`/usr/lib/postgresql/*/bin/${name}`).scanSync({ absolute: true })];
  return path ?? name;
}

function idOf(kind: "u" | "g"): number {
  return Number(Bun.spawnSync(["id", `-${kind}`, "postgres"]).stdout.toString());
}

async function psql(query: string): Promise<number> {
  const env = { ...connection, PATH: process.env["PATH"] ?? "" };
  return Bun.spawn(["psql", "-X", "-w", "-q", "-c", query], { env, stdin: "ignore", stdout: "ignore", stderr: "ignore" }).exited;
}

async function expectSuccess(child: Bun.Subprocess): Promise<void> {
  if ((await child.exited) !== 0) throw new Error("initdb failed");
}

async function freePort(): Promise<number> {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port } = server;
  await server.stop(true);
  return port as number;
}
