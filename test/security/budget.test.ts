// A budget holds also if the model's server does not count, or counts in favour of the model.
import { expect, test } from "bun:test";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";

const usages = {
  "reports no tokens": { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  "reports negative tokens": { input: -1_000_000, output: -1_000_000, cacheRead: 0, cacheWrite: 0 },
};

for (const [what, usage] of Object.entries(usages))
  test.each(Object.values(wireModels))(`a server that ${what} ends within the budget of tokens, with %s`, async (model) => {
    const call = { input: { command: "echo more" } };
    const steps = Array.from({ length: 40 }, () => ({ text: "x".repeat(4_000), usage, calls: [call] }));
    const server = startModelServer({ steps, final: "done" });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      const { code, err } = await skein.run(["run", "go", "-m", model, "--max-tokens", "12000"]);
      expect([code, err]).toEqual([7, expect.stringContaining("of 12000 tokens")]);
      expect(server.main().length).toBeLessThan(steps.length);
    } finally {
      await server.stop();
    }
  });
