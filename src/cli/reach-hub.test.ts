// Which hub a screen works through: at an address with its token, of the same version, or one clear line.
import { expect, onTestFinished, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stand, token } from "../hub/fixtures/stand.ts";
import type { Door } from "./command.ts";
import { checkHubWish, hubAt } from "./reach-hub.ts";

function doorWith(parts: Partial<Door>): Door {
  const state = mkdtempSync(join(tmpdir(), "skein-reach-"));
  onTestFinished(() => rmSync(state, { recursive: true, force: true }));
  return { state, home: state, self: [], version: "1.2.3", env: {}, ...parts } as Door;
}

const wish = (at: string) => ({ at, directory: "/", trust: null });
const found = { start: false };

test("a hub at an address is reached with the token of the environment, and only by its own version", async () => {
  using hub = stand("web", { ask: { list: async () => [] } });
  const { url } = hub.address as { url: string };
  const env = { SKEIN_HUB_TOKEN: token };
  const api = await hubAt(doorWith({ env }), wish(url), found);
  expect(await api.ask.list({ session: null })).toEqual([]);
  expect(hub.hellos[0]).toMatchObject({ client: "skein 1.2.3", directory: "/" });
  await api.close();
  await expect(hubAt(doorWith({ env, version: "1.2.4" }), wish(url), found)).rejects.toMatchObject({
    code: "hub-unreachable",
    message: "the hub is skein 1.2.3, and this is 1.2.4",
  });
  await expect(hubAt(doorWith({ env: { SKEIN_HUB_TOKEN: "another" } }), wish(url), found)).rejects.toMatchObject({
    code: "connection-lost",
  });
});

test("a hub that is not there is told in a line that says what to do", async () => {
  await expect(hubAt(doorWith({}), wish("auto"), found)).rejects.toMatchObject({ message: "no hub runs", hint: "skein hub start" });
  await expect(hubAt(doorWith({}), wish("ws://127.0.0.1:9"), found)).rejects.toMatchObject({
    message: "nothing is known of a hub at ws://127.0.0.1:9",
    hint: expect.stringContaining("SKEIN_HUB_TOKEN"),
  });
  for (const at of ["here", "http://127.0.0.1:4444", "ws://"]) expect(() => checkHubWish(at)).toThrow(`--hub can't be "${at}"`);
});
