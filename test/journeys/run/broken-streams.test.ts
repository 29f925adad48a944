// Runs whose stdout, stderr, disk or current directory is full, closed or missing.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { skeinCommand, temporaryHome, type TemporaryHome } from "../../support/temporary-home.ts";

/** Writes a script for the replay model. Returns the value of -m. */
function replayModel(skein: TemporaryHome, steps: unknown[]): string {
  const path = join(skein.root, "script.json");
  writeFileSync(path, JSON.stringify({ steps }));
  return `replay/${path}`;
}

const helloSteps = [{ text: "hello" }];
const longSteps = [{ calls: [{ name: "bash", input: { command: "sleep 30" } }] }, { text: "late" }];

describe("stdout", () => {
  test("a full stdout ends the run with one line, and the session can be continued", async () => {
    using skein = temporaryHome();
    const model = replayModel(skein, longSteps);
    const child = Bun.spawn([...skeinCommand(), "run", "go", "-m", model, "--session", "full", "--output-format", "events"], {
      cwd: skein.project,
      env: skein.env,
      stdin: "ignore",
      stdout: openSync("/dev/full", "w"),
      stderr: "pipe",
    });
    expect(await new Response(child.stderr).text()).toMatch(/^skein: can't write to stdout: ENOSPC.*\n$/);
    expect(await child.exited).toBe(1);
    const next = await skein.run(["run", "go on", "-m", replayModel(skein, helloSteps), "--session", "full", "--output-format", "events"]);
    expect(next.lines()[0]).toMatchObject({ type: "turn.started" });
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("a stdout that is closed by its reader stops the turn", async () => {
    using skein = temporaryHome();
    const child = skein.start(["run", "go", "-m", replayModel(skein, longSteps), "--output-format", "events"]);
    const reader = child.stdout.getReader();
    await reader.read();
    await reader.cancel();
    expect(await child.exited).toBe(143);
  });
});

test("a full stderr does not keep the answer from stdout", async () => {
  using skein = temporaryHome();
  const child = Bun.spawn([...skeinCommand(), "run", "go", "-m", replayModel(skein, helloSteps)], {
    cwd: skein.project,
    env: skein.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: openSync("/dev/full", "w"),
  });
  expect(await new Response(child.stdout).text()).toBe("hello\n");
  expect(await child.exited).toBe(0);
});

test("an error while copying the transcript is printed after the answer, not instead of it", async () => {
  using skein = temporaryHome();
  const folder = join(skein.root, "copies");
  mkdirSync(folder);
  const model = replayModel(skein, [
    { calls: [{ name: "bash", input: { command: `rm -r '${folder}'; touch '${folder}'` } }] },
    { text: "the answer" },
  ]);
  const ran = await skein.run(["run", "go", "-m", model, "--policy", "full", "--json", "--output-file", join(folder, "copy.jsonl")]);
  expect(ran.json()).toMatchObject({ status: "ok", result: "the answer" });
  expect({ code: ran.code, err: ran.err }).toEqual({ code: 1, err: expect.stringContaining(`skein: can't write ${folder}/copy.jsonl`) });
});

test("a removed current directory is reported in one clear line", async () => {
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

test("without HOME, ~ is the home directory from the password file", async () => {
  using skein = temporaryHome();
  const { HOME: _, ...env } = skein.env;
  const args = ["run", "go", "-m", replayModel(skein, helloSteps), "-C", "~", "--ephemeral", "--output-format", "events"];
  const child = Bun.spawn([...skeinCommand(), ...args], { cwd: skein.project, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [first] = (await new Response(child.stdout).text()).split("\n");
  // HOME of this process may differ from the password file, so a process without HOME looks it up.
  const home = Bun.spawnSync([process.execPath, "-p", 'require("node:os").homedir()'], { env: { PATH: skein.env["PATH"] } });
  expect(JSON.parse(first as string)).toMatchObject({ session: { directory: home.stdout.toString().trim() } });
});

test("--provider takes an agent or a vendor, and an unknown name is refused with the list of agents", async () => {
  using skein = temporaryHome();
  expect(await skein.run(["run", "go", "-m", replayModel(skein, helloSteps), "--provider", "native"])).toMatchObject({
    code: 0,
    out: "hello\n",
  });
  expect(await skein.run(["run", "go", "--provider", "nobody"])).toMatchObject({
    code: 3,
    err: expect.stringContaining('skein: no agent or model "nobody"\n       the agents are: native, claude,'),
  });
  expect(await skein.run(["run", "go", "--provider", "anthropic"])).toMatchObject({
    code: 4,
    err: expect.stringContaining("ANTHROPIC_API_KEY"),
  });
});

test("usage without a store creates none", async () => {
  using skein = temporaryHome();
  expect((await skein.run(["usage"])).out).toContain("nothing was spent");
  expect(existsSync(join(skein.root, "skein"))).toBe(false);
});
