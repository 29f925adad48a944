// Twenty agents' CLIs at once, played by fakes: each is shown live and in order; after kill -9 of every skein nothing is
// left, and every session goes on.
import { expect, test } from "bun:test";
import { homeWithFakeClis } from "../support/fake-clis.ts";
import { resumeAll, killAll, runAll } from "../support/many-agents.ts";

const agents = ["claude", "codex", "gemini", "opencode", "pi"];

test("twenty at once are shown live and in order, and all of them go on after a kill", async () => {
  using skein = homeWithFakeClis(agents);
  const children = Array.from({ length: 20 }, (_, at) => ({ agent: agents[at % agents.length]!, args: [], env: {} }));
  const shown = await runAll(skein, children, "do it fake:stepwise");
  const whole = ["user", "agent", "tool", "agent", "tool", "agent", "tool", "agent"];
  expect(shown.map(({ code, authors, answer }) => ({ code, authors, answer }))).toEqual(
    shown.map(() => ({ code: 0, authors: whole, answer: "All three were said." })),
  );
  await killAll(skein, shown, "more fake:hangs", ({ type }) => type === "text.delta");
  expect(await resumeAll(skein, shown, "go on fake:good")).toEqual(shown.map(() => ({ agent: expect.any(String), code: 0, status: "ok" })));
  expect((await skein.run(["verify"])).code).toBe(0);
});
