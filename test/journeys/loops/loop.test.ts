// skein loop with the real program, a scripted model and the real sandbox (row D15: loops).
import { afterAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loopRecord } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const server = startModelServer(shellScript([]), { chunkDelayMs: 0 });
afterAll(() => server.stop());
beforeEach(() => {
  server.setScript(shellScript([]));
  server.clear();
});

/** Fails until the file counts to `goal`, and prints a duration that differs each time. */
const until = (goal: number) =>
  `n=$(cat count.txt 2>/dev/null || echo 0); echo "counted $n of ${goal} in $RANDOM ms at $(date +%H:%M:%S)"; test "$n" -ge ${goal}`;
const addOne = "echo $(( $(cat count.txt 2>/dev/null || echo 0) + 1 )) > count.txt";

async function loop(skein: TemporaryHome, ...args: string[]) {
  const ran = await skein.run(["loop", "-m", wireModels.anthropic, "--json", ...args]);
  return { code: ran.code, err: ran.err, record: ran.out === "" ? null : loopRecord.parse(ran.json()) };
}

const checksOf = (record: Awaited<ReturnType<typeof loop>>["record"]) => record?.passes.map(({ check }) => check?.exit_code);

test("a check that passes already costs no request", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const { code, record } = await loop(skein, "do it", "--until", "true");
  expect({ code, status: record?.status, reason: record?.reason, requests: server.requests.length }).toEqual({
    code: 0,
    status: "ok",
    reason: "passed",
    requests: 0,
  });
  expect(record?.why).toContain("passes already");
});

test("passes repeat until the check succeeds, and each gets the output of the check before it", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript([addOne], "added one"));
  const { code, record } = await loop(skein, "count to three", "--until", until(3));
  expect({ code, reason: record?.reason, checks: checksOf(record) }).toEqual({ code: 0, reason: "passed", checks: [1, 1, 1, 0] });
  expect(readFileSync(join(skein.project, "count.txt"), "utf8")).toBe("3\n");
  expect(record?.passes.map(({ files }) => files)).toEqual([0, 1, 1, 1]);
  const prompts = server.main().filter(({ text }) => !text.includes("tool_result"));
  expect(prompts[0]?.text).toContain("counted 0 of 3");
  expect(server.main().at(-1)?.text).toContain("counted 2 of 3");
  const { nodes } = (await skein.run(["show", record?.session_id as string, "--json"])).json() as {
    nodes: { note?: string; parts: { kind: string; handle?: { identifier: string } }[] }[];
  };
  const handles = nodes.filter(({ note }) => note === "check").map(({ parts }) => `bash:${parts[0]?.handle?.identifier}`);
  expect(handles).toEqual(record?.passes.map(({ output }) => output) as string[]);
});

test("a model that never succeeds is stopped after two equal passes, within its budget, and the passes are listed", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript(["true"], "I did all I could"));
  const { code, record } = await loop(skein, "do it", "--until", until(9), "--max-budget-usd", "5");
  expect({ code, status: record?.status, reason: record?.reason }).toEqual({ code: 10, status: "check-failed", reason: "no-progress" });
  expect(record?.passes.map(({ pass, files }) => [pass, files])).toEqual([
    [0, 0],
    [1, 0],
    [2, 0],
  ]);
  expect(record?.why).toContain("after pass 2 the files and the output of the check are the same as after pass 1");
  expect(record?.cost_usd).toBeLessThan(5);
  const text = await skein.run(["loop", "do it", "-m", wireModels.anthropic, "--until", until(9)]);
  expect(text.code).toBe(10);
  expect(text.err).toContain("pass 2 of 10");
  expect(text.err).toMatch(/pass +agent +files +check/);
  expect(text.err).toContain("no progress");
});

test("a loop that flips between two states is stopped", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript(["if grep -q a state.txt; then echo b > state.txt; else echo a > state.txt; fi"], "flipped"));
  const { code, record } = await loop(skein, "do it", "--until", "cat state.txt; false");
  expect({ code, reason: record?.reason, passes: record?.passes.length }).toEqual({ code: 10, reason: "no-progress", passes: 4 });
  expect(record?.why).toContain("after pass 3");
  expect(record?.why).toContain("same as after pass 1");
});

test("a loop ends after --max-runs and continues with more", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript([addOne], "added one"));
  const stopped = await loop(skein, "count", "--until", until(4), "--max-runs", "2", "--session", "counting");
  expect({ code: stopped.code, reason: stopped.record?.reason, runs: stopped.record?.passes.length }).toEqual({
    code: 10,
    reason: "max-runs",
    runs: 3,
  });
  expect(stopped.record?.error?.hint).toContain("skein loop --resume");
  const again = await loop(skein, "--resume", "counting");
  expect(again.code).toBe(2);
  expect(again.err).toContain("the loop has ended");
  const { code, record } = await loop(skein, "--resume", "counting", "--max-runs", "9");
  expect({ code, reason: record?.reason, checks: checksOf(record) }).toEqual({ code: 0, reason: "passed", checks: [1, 1, 1, 1, 0] });
});

test("one budget holds over all passes and ends the loop with exit code 7", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript({ steps: [{ calls: [{ input: { command: addOne } }], usage: { input: 400, output: 50 } }], final: "added" });
  const { code, record } = await loop(skein, "count", "--until", until(99), "--max-tokens", "2500");
  expect({ code, status: record?.status, reason: record?.reason }).toEqual({ code: 7, status: "budget", reason: "budget" });
  expect(record?.passes.length).toBeGreaterThan(2);
  expect(record?.passes.length).toBeLessThan(9);
});

test("--fresh starts each pass with the task and the last output only", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript([addOne], "words of an earlier pass"));
  const { code } = await loop(skein, "count to two, please", "--until", until(2), "--fresh");
  expect(code).toBe(0);
  const last = server.main().at(-1)?.text ?? "";
  expect(last).toContain("count to two, please");
  expect(last).toContain("counted 1 of 2");
  expect(last).not.toContain("words of an earlier pass");
});

test("a loop that was killed continues with its settings and counts", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  mkdirSync(join(skein.project, "flags"));
  server.setScript(
    shellScript([`${addOne}; test "$(cat count.txt)" != 2 || test -e flags/go || { touch flags/here; exec sleep 3600; }`], "added"),
  );
  const child = skein.start([
    "loop",
    "count",
    "-m",
    wireModels.anthropic,
    "--until",
    until(3),
    "--max-runs",
    "7",
    "--session",
    "killed",
    "--json",
  ]);
  while (!existsSync(join(skein.project, "flags", "here"))) await Bun.sleep(20);
  process.kill(child.pid, "SIGKILL");
  await child.exited;
  writeFileSync(join(skein.project, "flags", "go"), "");
  rmSync(join(skein.project, "flags", "here"));
  const { code, record } = await loop(skein, "--resume");
  expect({ code, reason: record?.reason, maxRuns: record?.max_runs, task: record?.task }).toEqual({
    code: 0,
    reason: "passed",
    maxRuns: 7,
    task: "count",
  });
  expect(record?.passes.map(({ pass }) => pass)).toEqual([0, 1, 2, 3].slice(0, record?.passes.length));
});

test("a loop without --until is refused before anything is stored", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const { code, err } = await loop(skein, "do it");
  expect(code).toBe(2);
  expect(err).toContain("--until");
});
