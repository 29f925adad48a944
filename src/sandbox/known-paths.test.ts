import { expect, test } from "bun:test";
import { scratchPaths, secretPaths } from "./known-paths.ts";

test("secrets include files of the home directory and of the machine", () => {
  const places = secretPaths({ home: "/home/ada", isRoot: false });
  for (const path of ["/home/ada/.ssh", "/home/ada/.claude", "/home/ada/.netrc", "/etc/shadow", "/run/docker.sock"])
    expect(places).toContain(path);
  expect(places.filter((path) => path.startsWith("/root"))).toEqual([]);
});

test("directories of other agents are secret wherever their variables move them", () => {
  const env = { CODEX_HOME: "/srv/codex", GEMINI_CLI_HOME: "/srv", CLAUDE_CONFIG_DIR: "relative", PI_CODING_AGENT_DIR: undefined };
  const places = secretPaths({ home: "/home/ada", isRoot: false, env });
  expect(places.filter((path) => path.startsWith("/srv"))).toEqual(["/srv/codex", "/srv/.gemini"]);
  expect(places.every((path) => path.startsWith("/"))).toBe(true);
});

test("for root every home directory is covered, wherever HOME points", () => {
  expect(secretPaths({ home: "/somewhere", isRoot: true })).toContain("/root/.ssh");
});

test("no path is both secret and scratch, and all paths are absolute", () => {
  const secrets = secretPaths({ home: "/h", isRoot: false });
  const scratch = scratchPaths("/h");
  expect(scratch.filter((path) => secrets.includes(path))).toEqual([]);
  expect([...secrets, ...scratch].every((path) => path.startsWith("/") && !path.includes(" "))).toBe(true);
});
