import { expect, test } from "bun:test";
import { upstreamProxy } from "./upstream-proxy.ts";

const host = "api.example.com";

test.each<[string, Record<string, string>, string | null]>([
  ["no proxy", {}, null],
  ["HTTPS_PROXY", { HTTPS_PROXY: "http://box:8080" }, "http://box:8080/"],
  ["a lower-case variable without a scheme", { https_proxy: "box:8080" }, "http://box:8080/"],
  ["all_proxy", { all_proxy: "http://u:p@box" }, "http://u:p@box/"],
  ["an exempted domain", { HTTPS_PROXY: "http://box", NO_PROXY: "localhost, .example.com" }, null],
  ["an exempted host", { HTTPS_PROXY: "http://box", no_proxy: "api.example.com" }, null],
  ["everything exempted", { HTTPS_PROXY: "http://box", NO_PROXY: "*" }, null],
  ["a part of a name is no domain", { HTTPS_PROXY: "http://box", NO_PROXY: "ample.com" }, "http://box/"],
  ["a proxy with an unsupported scheme", { HTTPS_PROXY: "socks5://box" }, null],
])("the user's own proxy is read correctly for %s", (_, env, expected) => {
  expect(upstreamProxy(env, host)?.href ?? null).toBe(expected);
});
