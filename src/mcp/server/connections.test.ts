import { expect, test } from "bun:test";
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { cacheConnections } from "./connections.ts";

/** Hubs that can be lost; `made` are those that were connected to. */
function hubs() {
  const made: { directory: string; isLost: boolean }[] = [];
  const connect = cacheConnections(async (directory) => {
    const hub = { directory, isLost: false };
    made.push(hub);
    const check = async () => {
      if (hub.isLost) throw new Fault("connection-lost", "gone");
    };
    return { health: { check } } as unknown as Api;
  });
  return { made, connect };
}

test("a directory is connected to once, whoever asks and however often", async () => {
  const { made, connect } = hubs();
  const all = await Promise.all([connect("/a"), connect("/a"), connect("/b")]);
  expect(await connect("/a")).toBe(all[0]);
  expect(made.map(({ directory }) => directory)).toEqual(["/a", "/b"]);
});

test("a connection that is lost is made anew, once", async () => {
  const { made, connect } = hubs();
  const first = await connect("/a");
  made[0]!.isLost = true;
  const [second, third] = await Promise.all([connect("/a"), connect("/a")]);
  expect(second).not.toBe(first);
  expect(third).toBe(second);
  expect(made.length).toBe(2);
});

test("one that could not be made is tried again", async () => {
  let tries = 0;
  const connect = cacheConnections(async () => {
    tries += 1;
    if (tries === 1) throw new Fault("hub-unreachable", "the hub did not start");
    return { health: { check: async () => {} } } as unknown as Api;
  });
  await expect(connect("/a")).rejects.toThrow("did not start");
  expect(await connect("/a")).toBeDefined();
});
