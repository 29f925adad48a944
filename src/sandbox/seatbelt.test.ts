import { describe, expect, test } from "bun:test";
import { seatbeltProfile } from "./seatbelt.ts";
import type { PathRule, SandboxRules } from "./rules.ts";

const rules: PathRule[] = [
  { path: "/", access: "read" },
  { path: "/private/tmp", access: "scratch" },
  { path: "/Users/ada/.ssh", access: "none" },
  { path: "/Users/ada/p", access: "write" },
  { path: "/Users/ada/skein", access: "none" },
  { path: "/Users/ada/p/.git", access: "write" },
  { path: "/Users/ada/p/.skein", access: "read" },
  { path: "/Users/ada/p/.git/hooks", access: "read" },
  { path: "/Users/ada/skein/tmp/1/files", access: "write" },
];

const profile = (more: Partial<SandboxRules> = {}) =>
  seatbeltProfile({ rules, net: "off", unixSockets: false, temp: "/t", copies: "/c", maxProcesses: 1, keepsOwnerRights: false, ...more });
const lines = (more?: Partial<SandboxRules>) => profile(more).split("\n");

/** Operations that the profile language knows and that are used here. */
const operations = [
  "process-exec process-fork signal process-info* sysctl-read user-preference-read ipc-posix-sem iokit-open mach-lookup pseudo-tty",
  "file-read* file-read-metadata file-write* file-write-data file-write-unlink file-ioctl file-test-existence file-map-executable",
  "network-bind network-inbound network-outbound system-socket default",
].flatMap((line) => line.split(" "));

describe("the profile as text", () => {
  test("the profile denies by default, and every line is one rule with balanced brackets", () => {
    for (const variant of [lines(), lines({ net: "on", unixSockets: true })]) {
      expect(variant.slice(0, 2)).toEqual(["(version 1)", "(deny default)"]);
      for (const line of variant) {
        expect(line).toMatch(/^\((version 1|allow .*|deny .*)\)$/);
        expect(line.split("(").length).toBe(line.split(")").length);
      }
    }
  });

  test("the profile marks the sandbox unless nesting is allowed", () => {
    const mark = '(deny file-read* file-test-existence (literal "/private/var/db/skein-session"))';
    const isMarked = (more: Partial<SandboxRules>) => lines(more).includes(mark);
    expect([{}, { sessionTag: { session: "s", nesting: false } }, { mark: { session: "s", nesting: true } }].map(isMarked)).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("the profile uses only operations that exist", () => {
    const used = lines({ net: "on", unixSockets: true }).flatMap(
      (line) => /^\((?:allow|deny) ([^()"]+)/.exec(line)?.[1]?.trim().split(" ") ?? [],
    );
    expect(used.filter((name) => !operations.includes(name))).toEqual([]);
  });

  test("a target filter is used only with operations that support it", () => {
    expect(lines().filter((line) => line.includes("(target "))).toEqual([
      "(allow signal (target same-sandbox))",
      "(allow process-info* (target same-sandbox))",
    ]);
  });

  test("paths are sorted from the shortest to the longest, because the last rule wins", () => {
    const at = (text: string) => lines().findIndex((line) => line.includes(text));
    expect(at('(allow file-read* file-write* file-test-existence file-map-executable (subpath "/Users/ada/p"))')).toBeGreaterThan(0);
    expect(at('(deny file-write* (subpath "/Users/ada/p/.git/hooks"))')).toBeGreaterThan(at('(subpath "/Users/ada/p/.git"))'));
    expect(at('file-map-executable (subpath "/Users/ada/skein/tmp/1/files"))')).toBeGreaterThan(at('(subpath "/Users/ada/skein"))'));
  });

  test("a hidden path can't be tested for existence, and a scratch path is read-only", () => {
    expect(profile()).toContain('(deny file-read* file-write* file-test-existence file-map-executable (subpath "/Users/ada/.ssh"))');
    expect(profile()).toContain('(deny file-write* (subpath "/private/tmp"))');
  });

  test("only the parents of a visible path inside a hidden directory can be examined", () => {
    const found = lines().filter((line) => line.startsWith("(allow file-read-metadata"));
    expect(found.map((line) => /literal "(.*)"/.exec(line)?.[1])).toEqual([
      "/Users/ada/skein",
      "/Users/ada/skein/tmp",
      "/Users/ada/skein/tmp/1",
    ]);
  });

  test("a directory above a protected path can't be renamed", () => {
    const found = lines().filter((line) => line.startsWith("(deny file-write-unlink"));
    expect(found.map((line) => /literal "(.*?)"/.exec(line)?.[1])).toEqual([
      "/Users/ada/p",
      "/Users/ada/p/.git",
      "/Users/ada/skein/tmp/1/files",
    ]);
  });

  test("a path with quotes and backslashes is escaped", () => {
    expect(profile({ rules: [{ path: '/a"b\\c', access: "none" }] })).toContain(String.raw`(subpath "/a\"b\\c")`);
  });

  test("no service is allowed that stores secrets or starts programs outside", () => {
    const on = profile({ net: "on", unixSockets: true });
    for (const word of ["SecurityServer", "securityd", "launchservicesd", "lsopen", "appleevent", "(allow mach-lookup)", "(allow default)"])
      expect(on).not.toContain(word);
  });
});

describe("the network", () => {
  const about = (more: Partial<SandboxRules>) => lines(more).filter((line) => /network-|socket/.test(line));

  test("with the network off only the loopback is allowed, for each operation by its address", () => {
    expect(about({})).toEqual([
      '(allow network-bind (local ip "localhost:*"))',
      '(allow network-inbound (local ip "localhost:*"))',
      '(allow network-outbound (remote ip "localhost:*"))',
    ]);
  });

  test("with the network on all hosts and host names are allowed", () => {
    expect(about({ net: "on" })).toEqual([
      '(allow network-bind (local ip "*:*"))',
      '(allow network-inbound (local ip "*:*"))',
      '(allow network-outbound (remote ip "*:*"))',
      "(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))",
      '(allow network-outbound (remote unix-socket (path-literal "/private/var/run/mDNSResponder")))',
    ]);
  });

  test("unix sockets are allowed only if requested, and never below a hidden path", () => {
    const found = about({ unixSockets: true }).slice(3);
    expect(found.slice(0, 3)).toEqual([
      "(allow system-socket (socket-domain AF_UNIX))",
      "(allow network-bind (local unix-socket))",
      "(allow network-outbound (remote unix-socket))",
    ]);
    expect(found.slice(3)).toContain('(deny network-outbound (remote unix-socket (subpath "/Users/ada/.ssh")))');
  });
});
