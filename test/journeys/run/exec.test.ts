// `skein exec` behaves like the command itself: whole stdout and stderr apart, exit codes, slow and closed readers.
// Over the hub each piece of output names its stream, and the command ends with an exit event.
import { expect, test } from "bun:test";
import { connectToHub, startHub } from "../../support/hub-client.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { skeinCommand, temporaryHome, type TemporaryHome } from "../../support/temporary-home.ts";

async function homeWithSession(): Promise<TemporaryHome> {
  const skein = temporaryHome({ ANTHROPIC_API_KEY: "key" });
  const created = await skein.run(["new", "main"]);
  if (created.code !== 0) throw new Error(created.err);
  return skein;
}

/** Runs a shell pipeline in which `$SKEIN` is the program. */
async function pipeline(skein: TemporaryHome, script: string): Promise<{ out: string; err: string }> {
  const child = Bun.spawn(["bash", "-c", script], {
    cwd: skein.project,
    env: { ...skein.env, SKEIN: skeinCommand().join(" ") },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return { out, err };
}

test("exec writes the whole output of a command to the same streams and exits with its code", async () => {
  using skein = await homeWithSession();
  const ran = await skein.run(["exec", "main", "seq 1 200000; seq 1 100000 >&2; exit 3"]);
  expect(ran.code).toBe(3);
  expect(Buffer.byteLength(ran.out)).toBe(1_288_895);
  expect(Bun.hash(ran.out)).toBe(Bun.hash(numbers(200_000)));
  expect(Bun.hash(ran.err)).toBe(Bun.hash(numbers(100_000)));
  const shown = (await skein.run(["show", "main", "--json"])).out;
  expect(shown.length).toBeLessThan(100_000);
}, 120_000);

test("exec passes on bytes that are no text", async () => {
  using skein = await homeWithSession();
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7 + (index >> 8)) % 256));
  await Bun.write(`${skein.project}/bytes`, bytes);
  const child = skein.start(["exec", "main", "cat bytes"]);
  expect(Buffer.from(await new Response(child.stdout).arrayBuffer()).equals(bytes)).toBe(true);
  expect(await child.exited).toBe(0);
}, 120_000);

test("exec ends like a shell for a command that a signal ended", async () => {
  using skein = await homeWithSession();
  expect((await skein.run(["exec", "main", "kill -KILL $$"])).code).toBe(137);
}, 120_000);

test("exec into a closed pipe ends the command without a message, with the code of SIGPIPE", async () => {
  using skein = await homeWithSession();
  const { out, err } = await pipeline(skein, '$SKEIN exec main "seq 1 1000000000" | head -2; echo "${PIPESTATUS[@]}"');
  expect(out).toBe("1\n2\n141 0\n");
  expect(err).toBe("");
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
}, 120_000);

test("a slow reader makes the command wait and loses nothing", async () => {
  using skein = await homeWithSession();
  const slow = `(read first; until [ -e started ]; do sleep 0.02; done; sleep 0.2; { echo "$first"; cat; } | cksum)`;
  const script = `$SKEIN exec main "touch started; seq 1 400000" | ${slow}; seq 1 400000 | cksum`;
  const [piped, expected] = (await pipeline(skein, script)).out.trim().split("\n");
  expect(piped).toBe(expected);
}, 120_000);

test("exec reacts to a signal while its reader does not read", async () => {
  using skein = await homeWithSession();
  const child = skein.start(["exec", "main", "echo $$ >&2; yes"]);
  // The pid shows that the command runs. stdout is never read.
  for await (const chunk of child.stderr) if (chunk.length > 0) break;
  child.kill("SIGTERM");
  expect(await child.exited).toBe(143);
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
}, 120_000);

test("bash.execute tells stdout from stderr and ends with the exit code", async () => {
  using skein = await homeWithSession();
  await using hub = await startHub(skein);
  const client = await connectToHub("unix", hub);
  const { result } = await client.ask("session.find", { wanted: "main", directory: skein.project });
  const { items } = await client.follow("bash.execute", {
    session: (result as { id: string }).id,
    command: "echo out; echo err >&2; exit 7",
  });
  client.close();
  const outputs = items.filter(({ type }) => type === "tool.output").map(({ stream, text }) => [stream, text]);
  expect(outputs).toHaveLength(2);
  expect(Object.fromEntries(outputs)).toEqual({ stdout: "out\n", stderr: "err\n" });
  const types = items.map(({ type }) => type);
  expect(items.find(({ type }) => type === "tool.exited")).toMatchObject({ call: "exec", exit_code: 7, signal: null });
  expect(types.slice(types.indexOf("tool.exited"))).toEqual(["tool.exited", "node.added", "turn.ended"]);
}, 120_000);

function numbers(count: number): string {
  return Array.from({ length: count }, (_, index) => `${index + 1}\n`).join("");
}
