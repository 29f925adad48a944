// The streams and the ground under a run when they are not as they should be: full, closed, slow or gone.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { skeinCommand, temporaryHome, type TemporaryHome } from "../../support/temporary-home.ts";

/** A script for the replay model, as the value of -m. */
function scripted(skein: TemporaryHome, steps: unknown[]): string {
  const path = join(skein.root, "script.json");
  writeFileSync(path, JSON.stringify({ steps }));
  return `replay/${path}`;
}

const hello = [{ text: "hello" }];
const working = [{ calls: [{ name: "bash", input: { command: "sleep 30" } }] }, { text: "late" }];

describe("stdout", () => {
  test("that is full ends the run with one line, and the turn is recorded as stopped", async () => {
    using skein = temporaryHome();
    const model = scripted(skein, working);
    const child = Bun.spawn([...skeinCommand(), "run", "go", "-m", model, "--session", "full", "--output-format", "events"], {
      cwd: skein.project,
      env: skein.env,
      stdin: "ignore",
      stdout: openSync("/dev/full", "w"),
      stderr: "pipe",
    });
    expect(await new Response(child.stderr).text()).toMatch(/^skein: can't write to stdout: ENOSPC.*\n$/);
    expect(await child.exited).toBe(1);
    const next = await skein.run(["run", "go on", "-m", scripted(skein, hello), "--session", "full", "--output-format", "events"]);
    expect(next.lines()[0]).toMatchObject({ type: "turn.started" });
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("that nobody reads any more stops the turn", async () => {
    using skein = temporaryHome();
    const child = skein.start(["run", "go", "-m", scripted(skein, working), "--output-format", "events"]);
    const reader = child.stdout.getReader();
    await reader.read();
    await reader.cancel();
    expect(await child.exited).toBe(143);
  });
});

test("a stderr that is full keeps no answer back", async () => {
  using skein = temporaryHome();
  const child = Bun.spawn([...skeinCommand(), "run", "go", "-m", scripted(skein, hello)], {
    cwd: skein.project,
    env: skein.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: openSync("/dev/full", "w"),
  });
  expect(await new Response(child.stdout).text()).toBe("hello\n");
  expect(await child.exited).toBe(0);
});

test("a transcript that can't be copied at the end is told after the answer, not instead of it", async () => {
  using skein = temporaryHome();
  const folder = join(skein.root, "copies");
  mkdirSync(folder);
  const model = scripted(skein, [
    { calls: [{ name: "bash", input: { command: `rm -r '${folder}'; touch '${folder}'` } }] },
    { text: "the answer" },
  ]);
  const ran = await skein.run(["run", "go", "-m", model, "--policy", "full", "--json", "--output-file", join(folder, "copy.jsonl")]);
  expect(ran.json()).toMatchObject({ status: "ok", result: "the answer" });
  expect({ code: ran.code, err: ran.err }).toEqual({ code: 1, err: expect.stringContaining(`skein: can't write ${folder}/copy.jsonl`) });
});

test("a current directory that was removed is one clear line", async () => {
  using skein = temporaryHome();
  const gone = join(skein.root, "gone");
  mkdirSync(gone);
  const quoted = [...skeinCommand(), "run", "go"].map((word) => `'${word}'`).join(" ");
  const child = Bun.spawn(["sh", "-c", `cd '${gone}' && rmdir '${gone}' && exec ${quoted}`], {
    env: skein.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  expect(await new Response(child.stderr).text()).toBe("skein: the current directory no longer exists\n       cd to an existing one\n");
  expect(await child.exited).toBe(1);
});

test("without HOME a ~ is the home directory that the system knows", async () => {
  using skein = temporaryHome();
  const { HOME: _, ...env } = skein.env;
  const args = ["run", "go", "-m", scripted(skein, hello), "-C", "~", "--ephemeral", "--output-format", "events"];
  const child = Bun.spawn([...skeinCommand(), ...args], { cwd: skein.project, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [first] = (await new Response(child.stdout).text()).split("\n");
  // This process may have another HOME than the password file names, so a process without HOME is asked.
  const home = Bun.spawnSync([process.execPath, "-p", 'require("node:os").homedir()'], { env: { PATH: skein.env["PATH"] } });
  expect(JSON.parse(first as string)).toMatchObject({ session: { directory: home.stdout.toString().trim() } });
});

test("--provider takes an agent or a vendor, and names an agent that is not there", async () => {
  using skein = temporaryHome();
  expect(await skein.run(["run", "go", "-m", scripted(skein, hello), "--provider", "native"])).toMatchObject({ code: 0, out: "hello\n" });
  expect(await skein.run(["run", "go", "--provider", "nobody"])).toMatchObject({
    code: 3,
    err: expect.stringContaining('skein: no agent or model "nobody"\n       the agents are: native, claude,'),
  });
  expect(await skein.run(["run", "go", "--provider", "anthropic"])).toMatchObject({
    code: 4,
    err: expect.stringContaining("ANTHROPIC_API_KEY"),
  });
});

test("asking what was spent makes no store", async () => {
  using skein = temporaryHome();
  expect((await skein.run(["usage"])).out).toContain("nothing was spent");
  expect(existsSync(join(skein.root, "skein"))).toBe(false);
});
