// The entry of examples/harbor starts skein, and a client takes a turn the way Harbor's does: it sets the model, sends one
// prompt and grants every permission.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { acpClient } from "../../support/acp-clients.ts";
import { serverWith, stoppingHub } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const root = join(import.meta.dir, "..", "..", "..");
type Entry = { id: string; version: string; distribution: { binary: Record<string, { cmd: string; args: string[]; env: {} }> } };

test("the entry for Harbor starts the agent of this version, which works on a task without a sandbox", async () => {
  const entry = JSON.parse(readFileSync(join(root, "examples", "harbor", "agent.json"), "utf8")) as Entry;
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  expect(entry).toMatchObject({ id: "skein", version });
  const { cmd, args, env } = entry.distribution.binary["linux-x86_64"]!;
  expect({ cmd, args }).toEqual({ cmd: "./skein", args: ["acp"] });
  await using server = serverWith({ steps: [{ calls: [{ input: { command: "echo solved > ../home/answer.txt" } }] }], final: "solved" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using acp = await acpClient(skein, { env });
  const { sessionId } = await acp.open();
  await acp.agent.request("session/set_config_option", { sessionId, configId: "model", value: "openai/gpt-5.2" });
  expect(await acp.prompt(sessionId, "solve it")).toMatchObject({ stopReason: "end_turn" });
  expect(readFileSync(join(skein.home, "answer.txt"), "utf8")).toBe("solved\n");
  expect(server.main().at(-1)!.text).toContain("gpt-5.2");
});
