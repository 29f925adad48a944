// Sends a task on stdin seconds after the start. It is a soak test because it really waits for these seconds.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { skeinCommand, temporaryHome } from "../support/temporary-home.ts";

test("run waits for a task on stdin when there is no other task", async () => {
  using skein = temporaryHome();
  const script = join(skein.root, "script.json");
  writeFileSync(script, JSON.stringify({ steps: [{ text: "hello" }] }));
  const model = `replay/${script}`;
  const late = async (args: string[]) => {
    const child = Bun.spawn([...skeinCommand(), "run", ...args, "-m", model, "--json"], {
      cwd: skein.project,
      env: skein.env,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    await Bun.sleep(3500);
    await child.stdin.write("the task");
    await child.stdin.end();
    return { code: await child.exited, err: await new Response(child.stderr).text() };
  };
  expect(await Promise.all([late(["-"]), late([])])).toEqual([
    { code: 0, err: "" },
    { code: 0, err: "" },
  ]);
});
