import { expect, test } from "bun:test";
import { createSetup } from "./fixtures/config-setup.ts";

test("a project can leave out named hosts of the user, and names others only if it is trusted", () => {
  const hosts = (project: string[], trusted = false) =>
    createSetup({ user: '{ "net_hosts": ["*.example.com", "x.org"] }', project: JSON.stringify({ net_hosts: project }), trusted }).load();
  expect(hosts(["a.example.com"]).values.netHosts).toEqual(["a.example.com"]);
  expect(hosts([]).values.netHosts).toEqual([]);
  const widened = hosts(["x.org", "y.org"]);
  expect([widened.values.netHosts, widened.warnings[0]]).toEqual([
    ["*.example.com", "x.org"],
    expect.stringContaining("net_hosts is ignored"),
  ]);
  expect(hosts(["y.org"], true).values.netHosts).toEqual(["y.org"]);
  expect(createSetup({ project: '{ "net_hosts": ["y.org"] }' }).load().values.netHosts).toEqual([]);
});
