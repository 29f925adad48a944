// Flag combinations that `run` refuses before it creates anything.
import { expect, test } from "bun:test";
import { parseArgs } from "../../parse/args.ts";
import type { CommandContext } from "../../parse/command.ts";
import { run } from "./run.ts";

const ctx = { cwd: import.meta.dir, home: "/", env: {}, stdin: { isTty: true, text: async () => "" } } as unknown as CommandContext;

test("an ephemeral run can't continue a stored session", async () => {
  for (const flags of [["--continue"], ["--resume", "3f2a91cc"]]) {
    const refused = run.run(parseArgs(run, ["go", "--ephemeral", ...flags]), ctx);
    await expect(refused).rejects.toMatchObject({ code: "usage", message: `--ephemeral and ${flags[0]} exclude each other` });
  }
});
