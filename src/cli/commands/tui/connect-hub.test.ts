// Which hub a screen works through: at an address with its token, of the same version, or one clear line.
import { expect, onTestFinished, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestServer, token } from "../../../hub/fixtures/test-server.ts";
import type { CommandContext } from "../../parse/command.ts";
import { checkHubTarget, connectHubAt } from "./connect-hub.ts";

function doorWith(parts: Partial<CommandContext>): CommandContext {
  const state = mkdtempSync(join(tmpdir(), "skein-reach-"));
  onTestFinished(() => rmSync(state, { recursive: true, force: true }));
  return { state, home: state, selfCommand: [], version: "1.2.3", env: {}, ...parts } as CommandContext;
}

const wish = (at: string) => ({ at, directory: "/", trust: null });
const found = { start: false };

test("a hub at an address is reached with the token of the environment, and only by its own version", async () => {
  using hub = startTestServer("web", { ask: { list: async () => [] } });
  const { url } = hub.address as { url: string };
  const env = { SKEIN_HUB_TOKEN: token };
  const api = await connectHubAt(doorWith({ env }), wish(url), found);
  expect(await api.ask.list({ session: null })).toEqual([]);
  expect(hub.hellos[0]).toMatchObject({ client: "skein 1.2.3", directory: "/" });
  await api.close();
  await expect(connectHubAt(doorWith({ env, version: "1.2.4" }), wish(url), found)).rejects.toMatchObject({
    code: "hub-unreachable",
    message: "the hub is skein 1.2.3, and this is 1.2.4",
  });
  await expect(connectHubAt(doorWith({ env: { SKEIN_HUB_TOKEN: "another" } }), wish(url), found)).rejects.toMatchObject({
    code: "connection-lost",
  });
});

test("a hub that is not there is told in a line that says what to do", async () => {
  await expect(connectHubAt(doorWith({}), wish("auto"), found)).rejects.toMatchObject({ message: "no hub runs", hint: "skein hub start" });
  await expect(connectHubAt(doorWith({}), wish("ws://127.0.0.1:9"), found)).rejects.toMatchObject({
    message: "nothing is known of a hub at ws://127.0.0.1:9",
    hint: expect.stringContaining("SKEIN_HUB_TOKEN"),
  });
  for (const at of ["here", "http://127.0.0.1:4444", "ws://"]) expect(() => checkHubTarget(at)).toThrow(`--hub can't be "${at}"`);
});
