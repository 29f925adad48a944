import { expect, test } from "bun:test";
import { upstreamProxy } from "./upstream-proxy.ts";

const host = "api.example.com";

test.each<[string, Record<string, string>, string | null]>([
  ["none", {}, null],
  ["the usual variable", { HTTPS_PROXY: "http://box:8080" }, "http://box:8080/"],
  ["small letters, and no scheme", { https_proxy: "box:8080" }, "http://box:8080/"],
  ["one for everything", { all_proxy: "http://u:p@box" }, "http://u:p@box/"],
  ["an exempted domain", { HTTPS_PROXY: "http://box", NO_PROXY: "localhost, .example.com" }, null],
  ["an exempted host", { HTTPS_PROXY: "http://box", no_proxy: "api.example.com" }, null],
  ["everything exempted", { HTTPS_PROXY: "http://box", NO_PROXY: "*" }, null],
  ["a part of a name is no domain", { HTTPS_PROXY: "http://box", NO_PROXY: "ample.com" }, "http://box/"],
  ["one that can't be spoken to", { HTTPS_PROXY: "socks5://box" }, null],
])("the person's own proxy: %s", (_, env, expected) => {
  expect(upstreamProxy(env, host)?.href ?? null).toBe(expected);
});
