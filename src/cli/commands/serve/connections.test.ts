import { expect, test } from "bun:test";
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { cacheConnections } from "./connections.ts";

/** Hubs whose connection can be lost; `connected` lists the connections. */
function connectableHubs() {
  const connected: { directory: string; isLost: boolean }[] = [];
  const connect = cacheConnections(async (directory) => {
    const hub = { directory, isLost: false };
    connected.push(hub);
    const check = async () => {
      if (hub.isLost) throw new Fault("connection-lost", "the hub exited");
    };
    return { health: { check } } as unknown as Api;
  });
  return { connected, connect };
}

test("each directory gets one connection, also for concurrent calls", async () => {
  const { connected, connect } = connectableHubs();
  const connections = await Promise.all([connect("/a"), connect("/a"), connect("/b")]);
  expect(await connect("/a")).toBe(connections[0]);
  expect(connected.map(({ directory }) => directory)).toEqual(["/a", "/b"]);
});

test("a lost connection is replaced once, also for concurrent calls", async () => {
  const { connected, connect } = connectableHubs();
  const first = await connect("/a");
  connected[0]!.isLost = true;
  const [second, third] = await Promise.all([connect("/a"), connect("/a")]);
  expect(second).not.toBe(first);
  expect(third).toBe(second);
  expect(connected.length).toBe(2);
});

test("a connection that failed is tried again by the next call", async () => {
  let attempts = 0;
  const connect = cacheConnections(async () => {
    attempts += 1;
    if (attempts === 1) throw new Fault("hub-unreachable", "the hub did not start");
    return { health: { check: async () => {} } } as unknown as Api;
  });
  await expect(connect("/a")).rejects.toThrow("did not start");
  expect(await connect("/a")).toBeDefined();
});
