import { expect, test } from "bun:test";
import { allowsHost, coversHosts, parseHostPattern } from "./host-pattern.ts";

const allows = (pattern: string, host: string, port: number) => allowsHost([parseHostPattern(pattern)!], host, port);

test("a host without a port means https and http, and no other port", () => {
  expect([443, 80, 8080, 22].map((port) => allows("registry.npmjs.org", "registry.npmjs.org", port))).toEqual([true, true, false, false]);
  expect([443, 8080].map((port) => allows("registry.npmjs.org:8080", "registry.npmjs.org", port))).toEqual([false, true]);
});

test("a wildcard means every host below a domain, and not the domain itself", () => {
  const hosts = ["a.example.com", "a.b.example.com", "example.com", "evil-example.com", "example.com.evil.net", ".example.com"];
  expect(hosts.map((host) => allows("*.example.com", host, 443))).toEqual([true, true, false, false, false, false]);
});

test("names are compared without case and without the last dot", () => {
  expect(parseHostPattern("Example.COM.")).toEqual({ name: "example.com", port: null });
});

test("a text that is no host, an address in an unusual form and too wide a wildcard are refused", () => {
  const texts = ["", "*", "*.com", "https://x.org", "x.org/path", "user@x.org", "x.org:0", "x.org:65536", "x..org", "onn", "-x.org", "::1"];
  const numbers = ["127.1", "2130706433", "0x7f000001", "0x7f.1", "[127.0.0.1]", "[::g]"];
  expect([...texts, ...numbers].filter((text) => parseHostPattern(text) !== null)).toEqual([]);
  expect(
    ["127.0.0.1:80", "[::1]:80", "localhost:3000", "3com.com", "intranet:443", "x_y.example.com"].map((text) => parseHostPattern(text)),
  ).toEqual([
    { name: "127.0.0.1", port: 80 },
    { name: "::1", port: 80 },
    { name: "localhost", port: 3000 },
    { name: "3com.com", port: null },
    { name: "intranet", port: 443 },
    { name: "x_y.example.com", port: null },
  ]);
});

test("a list covers another one if it allows each of its hosts at each of its ports", () => {
  const wide = ["*.example.com", "x.org:8443"];
  const narrower = [[], ["a.example.com"], ["a.example.com:80", "x.org:8443"], ["*.b.example.com"]];
  expect(narrower.map((list) => coversHosts(wide, list))).toEqual([true, true, true, true]);
  expect([["x.org"], ["example.com"], ["a.example.com:22"], ["*.org"], ["y.org"]].some((list) => coversHosts(wide, list))).toBe(false);
});
