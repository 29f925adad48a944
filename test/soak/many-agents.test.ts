// Runs twenty fake CLIs of agents at once. Events are printed live and in order. After SIGKILL of every skein no process is
// left, and every session can be resumed.
import { expect, test } from "bun:test";
import { homeWithFakeClis } from "../support/fake-clis.ts";
import { resumeAll, killAll, runAll } from "../support/many-agents.ts";

const agents = ["claude", "codex", "gemini", "opencode", "pi"];

test("twenty agents at once print events live and in order, and every session continues after a kill", async () => {
  using skein = homeWithFakeClis(agents);
  const children = Array.from({ length: 20 }, (_, index) => ({ agent: agents[index % agents.length]!, args: [], env: {} }));
  const results = await runAll(skein, children, "do it fake:stepwise");
  const allAuthors = ["user", "agent", "tool", "agent", "tool", "agent", "tool", "agent"];
  expect(results.map(({ code, authors, answer }) => ({ code, authors, answer }))).toEqual(
    results.map(() => ({ code: 0, authors: allAuthors, answer: "All three were said." })),
  );
  await killAll(skein, results, "more fake:hangs", ({ type }) => type === "text.delta");
  expect(await resumeAll(skein, results, "go on fake:good")).toEqual(
    results.map(() => ({ agent: expect.any(String), code: 0, status: "ok" })),
  );
  expect((await skein.run(["verify"])).code).toBe(0);
});
