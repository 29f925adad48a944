import { expect, test } from "bun:test";
import { scratchPaths, secretPaths } from "./known-paths.ts";

test("secrets are below the home, and of the machine", () => {
  const places = secretPaths({ home: "/home/ada", isRoot: false });
  for (const path of ["/home/ada/.ssh", "/home/ada/.claude", "/home/ada/.netrc", "/etc/shadow", "/run/docker.sock"])
    expect(places).toContain(path);
  expect(places.filter((path) => path.startsWith("/root"))).toEqual([]);
});

test("other agents' directories are secret wherever their variables put them", () => {
  const env = { CODEX_HOME: "/srv/codex", GEMINI_CLI_HOME: "/srv", CLAUDE_CONFIG_DIR: "relative", PI_CODING_AGENT_DIR: undefined };
  const places = secretPaths({ home: "/home/ada", isRoot: false, env });
  expect(places.filter((path) => path.startsWith("/srv"))).toEqual(["/srv/codex", "/srv/.gemini"]);
  expect(places.every((path) => path.startsWith("/"))).toBe(true);
});

test("root's tools could read every home: its own is covered wherever HOME points", () => {
  expect(secretPaths({ home: "/somewhere", isRoot: true })).toContain("/root/.ssh");
});

test("no place is both a secret and a scratch place, and all are absolute", () => {
  const secrets = secretPaths({ home: "/h", isRoot: false });
  const scratch = scratchPaths("/h");
  expect(scratch.filter((path) => secrets.includes(path))).toEqual([]);
  expect([...secrets, ...scratch].every((path) => path.startsWith("/") && !path.includes(" "))).toBe(true);
});
