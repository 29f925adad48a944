// Tests connections to a hub at an address, and the errors without one.
import { expect, onTestFinished, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestServer, token } from "../../../hub/fixtures/test-server.ts";
import type { CommandContext } from "../../parse/command.ts";
import { checkHubTarget, connectHubAt } from "./connect-hub.ts";

function contextWith(overrides: Partial<CommandContext>): CommandContext {
  const state = mkdtempSync(join(tmpdir(), "skein-connect-hub-"));
  onTestFinished(() => rmSync(state, { recursive: true, force: true }));
  return { state, home: state, selfCommand: [], version: "1.2.3", env: {}, ...overrides } as CommandContext;
}

const target = (at: string) => ({ at, directory: "/", trust: null });
const options = { start: false };

test("a hub at an address accepts the token of the environment, and only its own version", async () => {
  using hub = startTestServer("web", { ask: { list: async () => [] } });
  const { url } = hub.address as { url: string };
  const env = { SKEIN_HUB_TOKEN: token };
  const api = await connectHubAt(contextWith({ env }), target(url), options);
  expect(await api.ask.list({ session: null })).toEqual([]);
  expect(hub.hellos[0]).toMatchObject({ client: "skein 1.2.3", directory: "/" });
  await api.close();
  await expect(connectHubAt(contextWith({ env, version: "1.2.4" }), target(url), options)).rejects.toMatchObject({
    code: "hub-unreachable",
    message: "the hub is skein 1.2.3, and this is 1.2.4",
  });
  await expect(connectHubAt(contextWith({ env: { SKEIN_HUB_TOKEN: "another" } }), target(url), options)).rejects.toMatchObject({
    code: "connection-lost",
  });
});

test("a missing hub, an unknown token and an invalid address are errors", async () => {
  await expect(connectHubAt(contextWith({}), target("auto"), options)).rejects.toMatchObject({
    message: "no hub runs",
    hint: "skein hub start",
  });
  await expect(connectHubAt(contextWith({}), target("ws://127.0.0.1:9"), options)).rejects.toMatchObject({
    message: "the token of the hub at ws://127.0.0.1:9 is unknown",
    hint: expect.stringContaining("SKEIN_HUB_TOKEN"),
  });
  for (const at of ["here", "http://127.0.0.1:4444", "ws://"]) expect(() => checkHubTarget(at)).toThrow(`--hub can't be "${at}"`);
});
